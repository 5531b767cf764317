#include "trainer/metrics/accuracy.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <limits>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr const char* kName = "Accuracy";
constexpr int64_t kNumCounts = 3;

// Which targets are among the k classes of the highest scores: fewer than k classes come before them.
at::Tensor is_in_top_k(const at::Tensor& predictions, const at::Tensor& targets, int64_t k) {
  const int64_t num_classes = predictions.size(1);
  const at::Tensor scores = predictions.movedim(1, -1).reshape({-1, num_classes});
  const at::Tensor labels = targets.clamp(0, num_classes - 1).unsqueeze(1);
  const at::Tensor own = scores.gather(1, labels);
  const at::Tensor is_lower_class = at::arange(num_classes, labels.options()).unsqueeze(0).lt(labels);
  const at::Tensor is_before = scores.gt(own).bitwise_or(scores.eq(own).bitwise_and(is_lower_class));
  // Comparisons with NaN are all false: a NaN of its own is never right.
  return is_before.sum(1).lt(k).bitwise_and(own.eq(own).squeeze(1));
}

}  // namespace

Accuracy::Accuracy(AccuracyOptions options) : options_(options) {
  if (options_.top_k < 1)
    throw ConfigError(fmt::format("[Accuracy] top_k must be at least 1, got {}.", options_.top_k));
}

void Accuracy::update(const at::Tensor& predictions, const at::Tensor& targets) {
  const at::NoGradGuard no_grad;
  const ClassPairs pairs = to_class_pairs(kName, predictions, targets, options_.threshold, std::nullopt);
  const bool has_scores = has_class_dim(predictions, targets);
  at::Tensor is_right = pairs.predicted.eq(pairs.targets);
  if (options_.top_k > 1) {
    if (!has_scores) throw_misfit(kName, predictions, targets, "top_k needs scores [N, C, ...] for targets [N, ...]");
    is_right = is_in_top_k(predictions, pairs.targets, options_.top_k);
  }
  // Without a class dimension, classes given as such have no upper bound; scores are of two classes.
  const int64_t num_classes = has_scores                        ? predictions.size(1)
                              : predictions.is_floating_point() ? 2
                                                                : std::numeric_limits<int64_t>::max();
  const at::Tensor is_counted = pairs.targets.ne(options_.ignore_index);
  accumulate(counts_, at::stack({is_right.bitwise_and(is_counted).sum(), is_counted.sum(),
                                 is_counted.bitwise_and(is_class(pairs.targets, num_classes).bitwise_not()).sum()}));
}

double Accuracy::compute(Communicator& communicator) const {
  const at::Tensor counts = sum_over_ranks(counts_, {kNumCounts}, at::kLong, communicator);
  const auto* count = counts.const_data_ptr<int64_t>();
  check_num_invalid(kName, count[2]);
  return static_cast<double>(count[0]) / static_cast<double>(count[1]);  // 0 / 0 is NaN
}

StateDict Accuracy::state() const {
  StateDict state;
  state.set("counts", copy_sum(counts_, {kNumCounts}, at::kLong));
  return state;
}

void Accuracy::merge_state(const StateDict& state) {
  accumulate(counts_, saved_sum(kName, state, "counts", {kNumCounts}, at::kLong));
}

}  // namespace levin
