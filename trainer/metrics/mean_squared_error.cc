#include "trainer/metrics/mean_squared_error.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include <cmath>

#include "trainer/metrics/class_targets.h"

namespace levin {
namespace {

constexpr const char* kName = "MeanSquaredError";

bool is_real(const at::Tensor& tensor) {
  return tensor.defined() && !tensor.is_complex() && tensor.scalar_type() != at::kBool;
}

}  // namespace

void MeanSquaredError::update(const at::Tensor& predictions, const at::Tensor& targets) {
  const at::NoGradGuard no_grad;
  if (!is_real(predictions) || !is_real(targets) || predictions.sizes() != targets.sizes()) {
    throw_misfit(kName, predictions, targets, "predictions and targets must be real numbers of one shape");
  }
  const at::Tensor error = predictions.to(at::kDouble).sub(targets.to(predictions.device(), at::kDouble));
  accumulate(sum_, error.square_().sum().reshape({1}));
  count_ += predictions.numel();
}

double MeanSquaredError::compute(Communicator& communicator) const {
  const at::Tensor sum = sum_over_ranks(sum_, {1}, at::kDouble, communicator);
  const at::Tensor count = sum_over_ranks(at::full({1}, count_, at::kLong), {1}, at::kLong, communicator);
  const double mean = *sum.const_data_ptr<double>() / static_cast<double>(*count.const_data_ptr<int64_t>());
  return options_.root ? std::sqrt(mean) : mean;
}

void MeanSquaredError::reset() {
  sum_.reset();
  count_ = 0;
}

StateDict MeanSquaredError::state() const {
  StateDict state;
  state.set("sum", copy_sum(sum_, {1}, at::kDouble));
  state.set("count", count_);
  return state;
}

void MeanSquaredError::merge_state(const StateDict& state) {
  const at::Tensor sum = saved_sum(kName, state, "sum", {1}, at::kDouble);
  const int64_t count = state.integer("count");
  accumulate(sum_, sum);
  count_ += count;
}

}  // namespace levin
