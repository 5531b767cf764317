#include "trainer/metrics/f1_score.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr const char* kName = "F1Score";

}  // namespace

F1Score::F1Score(F1ScoreOptions options) : options_(options) {
  if (options_.num_classes < 2) {
    throw ConfigError(fmt::format("[{}] num_classes must be at least 2, got {}.", kName, options_.num_classes));
  }
  if (options_.average == F1Average::kBinary && options_.num_classes != 2) {
    throw ConfigError(
        fmt::format("[{}] a binary average needs num_classes = 2, got {}. Choose a micro, macro or "
                    "weighted average.",
                    kName, options_.num_classes));
  }
}

void F1Score::update(const at::Tensor& predictions, const at::Tensor& targets) {
  const at::NoGradGuard no_grad;
  const int64_t num_classes = options_.num_classes;
  const auto [predicted, labels] = to_class_pairs(kName, predictions, targets, options_.threshold, num_classes);
  const at::Tensor is_counted = labels.ne(options_.ignore_index);
  const at::Tensor is_valid = is_class(predicted, num_classes).bitwise_and(is_class(labels, num_classes));
  const at::Tensor is_invalid = is_valid.bitwise_not();
  const at::Tensor valid = is_counted.bitwise_and(is_valid).to(at::kLong);
  const int64_t invalid_bin = num_bins() - 1;
  // An invalid pair goes into the last bin once: with the first of the three.
  const auto bins = [&](const at::Tensor& classes, int64_t row) {
    return classes.add(row * num_classes).masked_fill(is_invalid, invalid_bin);
  };
  const at::Tensor right = predicted.eq(labels).bitwise_or(is_invalid).bitwise_and(is_counted).to(at::kLong);
  accumulate_bins(counts_, at::cat({bins(labels, 0), bins(predicted, 1), bins(labels, 2)}),
                  at::cat({right, valid, valid}), num_bins());
}

std::vector<F1Score::Counts> F1Score::counts(Communicator& communicator) const {
  const at::Tensor counts = sum_over_ranks(counts_, {num_bins()}, at::kLong, communicator);
  const auto* count = counts.const_data_ptr<int64_t>();
  check_num_invalid(kName, count[num_bins() - 1]);
  std::vector<Counts> result;
  for (int64_t i = 0; i < options_.num_classes; ++i) {
    result.push_back({static_cast<double>(count[i]), static_cast<double>(count[options_.num_classes + i]),
                      static_cast<double>(count[2 * options_.num_classes + i])});
  }
  return result;
}

// TP + FP are the predicted, TP + FN the true ones.
double F1Score::score(const Counts& counts) { return 2.0 * counts.right / (counts.predicted + counts.actual); }

std::vector<double> F1Score::per_class(Communicator& communicator) const {
  std::vector<double> scores;
  for (const Counts& of_class : counts(communicator)) scores.push_back(score(of_class));
  return scores;
}

double F1Score::compute(Communicator& communicator) const {
  const std::vector<Counts> classes = counts(communicator);
  if (options_.average == F1Average::kBinary) return score(classes[1]);
  Counts all;
  double weighted_sum = 0.0;
  double weight_sum = 0.0;
  for (const Counts& of_class : classes) {
    all.right += of_class.right;
    all.predicted += of_class.predicted;
    all.actual += of_class.actual;
    if (of_class.predicted + of_class.actual == 0.0) continue;
    const double weight = options_.average == F1Average::kWeighted ? of_class.actual : 1.0;
    weighted_sum += weight * score(of_class);
    weight_sum += weight;
  }
  return options_.average == F1Average::kMicro ? score(all) : weighted_sum / weight_sum;
}

StateDict F1Score::state() const {
  StateDict state;
  state.set("counts", copy_sum(counts_, {num_bins()}, at::kLong));
  return state;
}

void F1Score::merge_state(const StateDict& state) {
  accumulate(counts_, saved_sum(kName, state, "counts", {num_bins()}, at::kLong));
}

}  // namespace levin
