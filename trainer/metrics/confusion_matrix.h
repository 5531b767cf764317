#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trainer/core/metric.h"
#include "trainer/metrics/class_targets.h"

namespace levin {

struct ConfusionMatrixOptions {
  int64_t num_classes = 2;
  /// For scores without a class dimension: class 1 is above it. For logits use 0.
  double threshold = 0.5;
  /// Targets with this value do not count.
  int64_t ignore_index = kIgnoreIndex;
};

/// How often each class was taken for each. It has no single value: read counts() where you need it.
class ConfusionMatrix final : public Metric {
 public:
  /// Errors: ConfigError if num_classes < 2.
  explicit ConfusionMatrix(ConfusionMatrixOptions options = {});

  /// `targets`: [N, ...] of integer type or bool. `predictions`: scores [N, C, ...] (logits or probabilities), scores
  /// [N, ...] of two classes, or classes [N, ...]. Any device, without synchronising it.
  /// Errors: ModelError if they do not fit.
  void update(const at::Tensor& predictions, const at::Tensor& targets);
  /// int64 [C, C] on the CPU, over all ranks (collective): row = target, column = prediction.
  /// Errors: ModelError on all ranks if a class was not in [0, C) and not ignored.
  at::Tensor counts(Communicator& communicator) const;

  void reset() override { counts_.reset(); }
  StateDict state() const override;
  void merge_state(const StateDict& state) override;

 private:
  int64_t num_bins() const { return options_.num_classes * options_.num_classes + 1; }

  ConfusionMatrixOptions options_;
  at::Tensor counts_;  // int64 [C * C + 1]: the matrix row by row, then invalid; undefined until something is seen
};

}  // namespace levin
