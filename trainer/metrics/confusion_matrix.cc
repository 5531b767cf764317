#include "trainer/metrics/confusion_matrix.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr const char* kName = "ConfusionMatrix";

}  // namespace

ConfusionMatrix::ConfusionMatrix(ConfusionMatrixOptions options) : options_(options) {
  if (options_.num_classes < 2) {
    throw ConfigError(fmt::format("[{}] num_classes must be at least 2, got {}.", kName, options_.num_classes));
  }
}

void ConfusionMatrix::update(const at::Tensor& predictions, const at::Tensor& targets) {
  const at::NoGradGuard no_grad;
  const auto [predicted, labels] =
      to_class_pairs(kName, predictions, targets, options_.threshold, options_.num_classes);
  const at::Tensor is_valid =
      is_class(predicted, options_.num_classes).bitwise_and(is_class(labels, options_.num_classes));
  const at::Tensor bins = labels.mul(options_.num_classes).add(predicted);
  accumulate_bins(counts_, bins.masked_fill(is_valid.bitwise_not(), num_bins() - 1),
                  labels.ne(options_.ignore_index).to(at::kLong), num_bins());
}

at::Tensor ConfusionMatrix::counts(Communicator& communicator) const {
  const at::Tensor counts = sum_over_ranks(counts_, {num_bins()}, at::kLong, communicator);
  check_num_invalid(kName, counts.const_data_ptr<int64_t>()[num_bins() - 1]);
  return counts.slice(0, 0, num_bins() - 1).reshape({options_.num_classes, options_.num_classes});
}

StateDict ConfusionMatrix::state() const {
  StateDict state;
  state.set("counts", copy_sum(counts_, {num_bins()}, at::kLong));
  return state;
}

void ConfusionMatrix::merge_state(const StateDict& state) {
  accumulate(counts_, saved_sum(kName, state, "counts", {num_bins()}, at::kLong));
}

}  // namespace levin
