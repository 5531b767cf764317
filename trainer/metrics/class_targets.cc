#include "trainer/metrics/class_targets.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr std::string_view kClassRule =
    "predictions must be scores [N, C, ...] or [N, ...], or classes [N, ...], for targets [N, ...]";

bool is_class_type(const at::Tensor& tensor) { return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true); }

at::Tensor flat(const at::Tensor& classes) { return classes.reshape({-1}).to(at::kLong); }

}  // namespace

bool has_class_dim(const at::Tensor& predictions, const at::Tensor& targets) {
  if (predictions.dim() != targets.dim() + 1 || targets.dim() == 0) return false;
  std::vector<int64_t> sizes = predictions.sizes().vec();
  sizes.erase(sizes.begin() + 1);
  return targets.sizes() == at::IntArrayRef(sizes);
}

void throw_misfit(std::string_view metric, const at::Tensor& predictions, const at::Tensor& targets,
                  std::string_view rule) {
  throw ModelError(fmt::format("[{}] {}, got predictions {} and targets {}.", metric, rule,
                               describe_tensor(predictions), describe_tensor(targets)));
}

void check_class_targets(std::string_view metric, const at::Tensor& predictions, const at::Tensor& targets) {
  if (!predictions.defined() || !targets.defined()) throw_misfit(metric, predictions, targets, "both must be defined");
  if (!is_class_type(targets)) {
    throw_misfit(metric, predictions, targets, "targets must be classes of integer type or bool");
  }
}

ClassPairs to_class_pairs(std::string_view metric, const at::Tensor& predictions, const at::Tensor& targets,
                          double threshold, std::optional<int64_t> num_classes) {
  check_class_targets(metric, predictions, targets);
  const at::Tensor labels = flat(targets.to(predictions.device()));
  const bool has_classes = has_class_dim(predictions, targets);
  if (!has_classes && predictions.sizes() != targets.sizes()) throw_misfit(metric, predictions, targets, kClassRule);
  if (!predictions.is_floating_point()) {
    if (has_classes || !is_class_type(predictions)) throw_misfit(metric, predictions, targets, kClassRule);
    return {flat(predictions), labels};
  }
  const int64_t num_scored = has_classes ? predictions.size(1) : 2;
  if (num_scored == 0 || num_scored != num_classes.value_or(num_scored)) {
    throw_misfit(metric, predictions, targets,
                 fmt::format("scores must be of {} classes, [N, C, ...]", num_classes.value_or(1)));
  }
  return {has_classes ? predictions.argmax(1).reshape({-1}) : flat(predictions.gt(threshold)), labels};
}

at::Tensor is_class(const at::Tensor& classes, int64_t num_classes) {
  return classes.ge(0).bitwise_and(classes.lt(num_classes));
}

void check_num_invalid(std::string_view metric, int64_t num_invalid) {
  if (num_invalid == 0) return;
  throw ModelError(
      fmt::format("[{}] classes must be at least 0 and below the number of classes, {} were not. Targets that should "
                  "not count must be equal to ignore_index.",
                  metric, num_invalid));
}

void accumulate(at::Tensor& sum, const at::Tensor& increment) {
  // The sum outlives the batch, so it must be neither part of a graph nor an inference tensor.
  const c10::InferenceMode no_inference_mode(false);
  const at::NoGradGuard no_grad;
  if (!sum.defined()) {
    sum = increment.clone();
    return;
  }
  // A loaded sum comes from a file, on the CPU.
  if (sum.device() != increment.device()) sum = sum.to(increment.device());
  sum.add_(increment);
}

void accumulate_bins(at::Tensor& counts, const at::Tensor& bins, const at::Tensor& weights, int64_t num_bins) {
  const c10::InferenceMode no_inference_mode(false);
  const at::NoGradGuard no_grad;
  if (!counts.defined()) counts = at::zeros({num_bins}, bins.options());
  if (counts.device() != bins.device()) counts = counts.to(bins.device());
  counts.scatter_add_(0, bins, weights);
}

at::Tensor copy_sum(const at::Tensor& sum, at::IntArrayRef sizes, at::ScalarType dtype) {
  return sum.defined() ? sum.clone() : at::zeros(sizes, dtype);
}

at::Tensor sum_over_ranks(const at::Tensor& sum, at::IntArrayRef sizes, at::ScalarType dtype,
                          Communicator& communicator) {
  // A rank that saw nothing knows no device, so all ranks reduce on the CPU.
  at::Tensor total = copy_sum(sum, sizes, dtype).cpu();
  if (communicator.world_size() > 1) communicator.all_reduce(total, ReduceOp::kSum);
  return total;
}

at::Tensor saved_sum(std::string_view metric, const StateDict& state, std::string_view name, at::IntArrayRef sizes,
                     at::ScalarType dtype) {
  const at::Tensor& saved = state.tensor(name);
  if (saved.sizes() != sizes || saved.scalar_type() != dtype) {
    throw CheckpointError(fmt::format("[{}] the saved entry \"{}\" must be {}, got {}. Are the options the same?",
                                      metric, name, describe_tensor(at::zeros(sizes, dtype)), describe_tensor(saved)));
  }
  return saved;
}

}  // namespace levin
