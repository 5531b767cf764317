#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "trainer/core/micro_batch_size.h"
#include "trainer/core/step_output.h"

namespace levin {

/// Into what parts the batches of a fit are split. See TrainerOptions::micro_batch_size.
class MicroBatches {
 public:
  explicit MicroBatches(const MicroBatchSize& size)
      : is_automatic_(size.is_automatic()), limit_(size.is_fixed() ? size.samples() : 0) {}

  bool is_on() const { return is_automatic_ || limit_ > 0; }
  bool is_automatic() const { return is_automatic_; }
  /// At most so many samples are in a part; 0: no limit has been met.
  int64_t limit() const { return limit_; }
  /// As a checkpoint has it. Only where it is automatic: a given number stays.
  void restore_limit(int64_t limit) {
    if (is_automatic_) limit_ = limit;
  }
  /// Samples of the first part of a batch.
  int64_t part_size(int64_t batch_size) const { return limit_ > 0 ? std::min(limit_, batch_size) : batch_size; }
  /// A part of `samples` did not fit: later parts have half as many. False if it cannot be smaller.
  bool shrink(int64_t samples) {
    if (samples <= 1) return false;
    limit_ = (samples + 1) / 2;
    return true;
  }

 private:
  bool is_automatic_;
  int64_t limit_;
};

/// Makes of what training_step returned for the parts of a batch what it would have returned for the whole.
class PartOutputs {
 public:
  /// num_samples: of the part.
  void add(const StepOutput& output, int64_t num_samples);
  /// Without a graph, unless there was one part only.
  StepOutput total() const;

 private:
  std::optional<StepOutput> only_;  // while there is one
  at::Tensor sum_;
  double weight_ = 0.0;
  bool is_weighted_ = false;
};

}  // namespace levin
