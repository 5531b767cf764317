#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/core/option_visitor.h"

namespace levin {

/// How the largest batch size is searched with which training fits into memory: that of the device on CUDA,
/// TrainerOptions::memory_limit on the CPU.
struct BatchSizeFinderOptions {
  /// "power": doubles the size while it fits; "binary": then halves the interval between the largest that fits and the
  /// smallest that does not.
  std::string mode = "power";
  /// Size of the first trial. Where it does not fit, it is halved first.
  int64_t initial_batch_size = 2;
  /// Optimizer steps of a trial.
  int64_t steps_per_trial = 3;
  int64_t max_trials = 25;
  int64_t max_batch_size = 8192;
  /// Part of the size that is left free at the end, in mode "binary", since memory is needed unevenly.
  double margin = 0.05;

  void visit(OptionVisitor& visitor);
};

/// One size that was tried.
struct BatchSizeTrial {
  int64_t batch_size = 0;
  bool fits = false;
  double samples_per_second = 0.0;  ///< 0 if it does not fit.
};

struct BatchSizeFinderResult {
  std::vector<BatchSizeTrial> trials = {};
  /// The largest size that fits, less the margin.
  int64_t batch_size = 0;
};

/// The search without the training: says which size comes next, and is told whether it fits.
class BatchSizeFinder {
 public:
  /// Errors: ConfigError if an option is not allowed.
  explicit BatchSizeFinder(BatchSizeFinderOptions options = {});

  /// The size to try; nullopt when the search is over.
  std::optional<int64_t> next() const;
  /// The outcome of next(). samples_per_second: of the trial.
  void add(bool fits, double samples_per_second);
  /// Larger sizes would not change anything, since the data has no more samples.
  void set_largest(int64_t batch_size);
  /// Errors: ModelError if no size fits.
  BatchSizeFinderResult result() const;

 private:
  std::optional<int64_t> propose() const;

  BatchSizeFinderOptions options_;
  int64_t largest_;
  int64_t good_ = 0;                           // fits
  std::optional<int64_t> bad_ = std::nullopt;  // does not
  std::vector<BatchSizeTrial> trials_;
};

}  // namespace levin
