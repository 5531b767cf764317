#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trainer/core/metric.h"
#include "trainer/metrics/class_targets.h"

namespace levin {

struct AurocOptions {
  /// 2: binary. More: the mean over the classes, each against the rest, of those that have samples of both kinds.
  int64_t num_classes = 2;
  /// Targets with this value do not count.
  int64_t ignore_index = kIgnoreIndex;
};

/// The area under the receiver operating characteristic: the probability that a positive sample has a higher score than
/// a negative one, where equal scores count half (Hanley and McNeil, Radiology 143, 1982). Exact, over all samples of
/// all ranks: every score is kept, in float32 (float64 if the scores are) on their device, and compute() needs 8 bytes
/// for each score of all ranks on every rank.
class Auroc final : public ScalarMetric {
 public:
  /// Errors: ConfigError if num_classes < 2.
  explicit Auroc(AurocOptions options = {});

  /// `targets`: [N, ...] of integer type or bool. `scores`, of floating type, logits or probabilities: [N, C, ...], or
  /// for two classes also those of class 1, [N, ...]. Any device, without synchronising it.
  /// Errors: ModelError if they do not fit.
  void update(const at::Tensor& scores, const at::Tensor& targets);
  /// NaN if no class has samples of both kinds, or a score is NaN.
  /// Errors: ModelError on all ranks if a target was not in [0, C) and not ignored.
  double compute(Communicator& communicator) const override;

  void reset() override;
  /// "scores" [N, 1] for two classes or [N, C], "targets" int64 [N] with -1 for ignored and -2 for invalid ones.
  StateDict state() const override;
  void merge_state(const StateDict& state) override;

 private:
  int64_t num_columns() const { return options_.num_classes == 2 ? 1 : options_.num_classes; }
  void append(const at::Tensor& scores, const at::Tensor& targets);

  AurocOptions options_;
  int64_t size_ = 0;    // samples kept
  at::Tensor scores_;   // [capacity, columns], undefined until something is seen
  at::Tensor targets_;  // int64 [capacity]
};

/// The area for one class: scores [N] of any floating type, is_positive bool [N], both on the CPU. NaN without samples
/// of both kinds, or if a score is NaN.
double binary_auroc(const at::Tensor& scores, const at::Tensor& is_positive);

}  // namespace levin
