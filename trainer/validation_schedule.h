#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "trainer/core/trainer_options.h"

namespace levin {

/// When a fit validates: val_check_interval and check_val_every_n_epoch.
class ValidationSchedule {
 public:
  using Clock = std::chrono::steady_clock;

  /// num_batches: of a training epoch, if known. Errors: ConfigError if the interval does not fit that number.
  ValidationSchedule(const TrainerOptions& options, std::optional<int64_t> num_batches);

  /// True if a validation is due after `batch_idx` batches of epoch `epoch`, which is over or not.
  /// total_batches: over all epochs.
  bool is_due(int64_t epoch, int64_t batch_idx, int64_t total_batches, bool is_epoch_over) const;
  /// True if validations happen in this epoch at all, so that an early end makes a last one.
  bool is_validation_epoch(int64_t epoch) const;
  /// Time counts from the end of the last validation.
  void on_validated(Clock::time_point now = Clock::now()) { last_ = now; }

 private:
  std::optional<int64_t> every_n_epochs_;
  std::optional<int64_t> interval_;  // in batches; nullopt: the end of the epoch, or time
  std::optional<double> seconds_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace levin
