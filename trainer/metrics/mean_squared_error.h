#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trainer/core/metric.h"

namespace levin {

struct MeanSquaredErrorOptions {
  /// The square root of the mean (RMSE), in the unit of the targets.
  bool root = false;
};

/// The mean of (prediction - target)^2 over all elements alike, in double.
class MeanSquaredError final : public ScalarMetric {
 public:
  explicit MeanSquaredError(MeanSquaredErrorOptions options = {}) : options_(options) {}

  /// Two tensors of one shape, of floating or integer type. Any device, without synchronising it.
  /// Errors: ModelError if the shapes differ or a type is another.
  void update(const at::Tensor& predictions, const at::Tensor& targets);
  double compute(Communicator& communicator) const override;

  void reset() override;
  StateDict state() const override;
  void merge_state(const StateDict& state) override;

 private:
  MeanSquaredErrorOptions options_;
  at::Tensor sum_;  // float64 [1], of squared errors; undefined until something is seen
  int64_t count_ = 0;
};

}  // namespace levin
