#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trainer/core/metric.h"
#include "trainer/metrics/class_targets.h"

namespace levin {

struct AccuracyOptions {
  /// A prediction is right if its target is among the `top_k` classes of the highest scores; of equal scores, the lower
  /// class is the higher. Above 1, predictions must be scores [N, C, ...].
  int64_t top_k = 1;
  /// For scores without a class dimension: class 1 is above it. For logits use 0.
  double threshold = 0.5;
  /// Targets with this value do not count.
  int64_t ignore_index = kIgnoreIndex;
};

/// The fraction of right predictions, over all samples alike, in [0, 1].
class Accuracy final : public ScalarMetric {
 public:
  /// Errors: ConfigError if top_k < 1.
  explicit Accuracy(AccuracyOptions options = {});

  /// `targets`: [N, ...] of integer type or bool. `predictions`: scores [N, C, ...] (logits or probabilities), scores
  /// [N, ...] of two classes, or classes [N, ...]. Any device, without synchronising it.
  /// Errors: ModelError if they do not fit.
  void update(const at::Tensor& predictions, const at::Tensor& targets);
  /// Errors: ModelError on all ranks if a target was not in [0, C) and not ignored.
  double compute(Communicator& communicator) const override;

  void reset() override { counts_.reset(); }
  StateDict state() const override;
  void merge_state(const StateDict& state) override;

 private:
  AccuracyOptions options_;
  at::Tensor counts_;  // int64 [3]: right, counted, invalid; undefined until something is seen
};

}  // namespace levin
