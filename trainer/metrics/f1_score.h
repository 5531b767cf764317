#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "trainer/core/metric.h"
#include "trainer/metrics/class_targets.h"

namespace levin {

/// How the scores of the classes become one.
enum class F1Average {
  kBinary,    ///< that of class 1 of two
  kMicro,     ///< from the counts of all classes together
  kMacro,     ///< the mean over the classes that were predicted or true at least once
  kWeighted,  ///< the mean over the classes, weighted by how often each was true
};

struct F1ScoreOptions {
  int64_t num_classes = 2;
  F1Average average = F1Average::kBinary;
  /// For scores without a class dimension: class 1 is above it. For logits use 0.
  double threshold = 0.5;
  /// Targets with this value do not count.
  int64_t ignore_index = kIgnoreIndex;
};

/// F1 = 2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall (van Rijsbergen, Information Retrieval,
/// 1979).
class F1Score final : public ScalarMetric {
 public:
  /// Errors: ConfigError if num_classes < 2, or the average is binary with more than two.
  explicit F1Score(F1ScoreOptions options = {});

  /// `targets`: [N, ...] of integer type or bool. `predictions`: scores [N, C, ...] (logits or probabilities), scores
  /// [N, ...] of two classes, or classes [N, ...]. Any device, without synchronising it.
  /// Errors: ModelError if they do not fit.
  void update(const at::Tensor& predictions, const at::Tensor& targets);
  /// Errors: ModelError on all ranks if a class was not in [0, C) and not ignored.
  double compute(Communicator& communicator) const override;
  /// One value for each class, over all ranks (collective); NaN for a class that was neither predicted nor true.
  /// Errors: as compute.
  std::vector<double> per_class(Communicator& communicator) const;

  void reset() override { counts_.reset(); }
  StateDict state() const override;
  void merge_state(const StateDict& state) override;

 private:
  struct Counts {
    double right = 0.0;
    double predicted = 0.0;
    double actual = 0.0;
  };

  int64_t num_bins() const { return 3 * options_.num_classes + 1; }
  std::vector<Counts> counts(Communicator& communicator) const;
  static double score(const Counts& counts);

  F1ScoreOptions options_;
  at::Tensor counts_;  // int64 [3 C + 1]: right, predicted, true of each class, then invalid; undefined: nothing seen
};

}  // namespace levin
