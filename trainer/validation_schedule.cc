#include "trainer/validation_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "trainer/core/error.h"

namespace levin {

ValidationSchedule::ValidationSchedule(const TrainerOptions& options, std::optional<int64_t> num_batches)
    : every_n_epochs_(options.check_val_every_n_epoch) {
  const ValidationInterval& interval = options.val_check_interval;
  if (interval.is_time()) {
    seconds_ = interval.seconds();
  } else if (interval.is_batches()) {
    interval_ = interval.batches();
    if (every_n_epochs_ && num_batches && *interval_ > *num_batches && *num_batches > 0) {
      throw ConfigError(
          fmt::format("[Trainer] val_check_interval is {} batches, but an epoch has {}, so that there would be no "
                      "validation. Set check_val_every_n_epoch to null to count batches over epochs.",
                      *interval_, *num_batches));
    }
  } else if (interval.fraction() < 1.0) {
    if (!num_batches) {
      throw ConfigError(
          fmt::format("[Trainer] val_check_interval is the fraction {} of an epoch, but the training loader does not "
                      "know its length. Give a number of batches.",
                      interval.to_string()));
    }
    interval_ = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(*num_batches) * interval.fraction()));
  }
}

bool ValidationSchedule::is_validation_epoch(int64_t epoch) const {
  return !every_n_epochs_ || (epoch + 1) % *every_n_epochs_ == 0;
}

bool ValidationSchedule::is_due(int64_t epoch, int64_t batch_idx, int64_t total_batches, bool is_epoch_over) const {
  if (batch_idx == 0 || !is_validation_epoch(epoch)) return false;
  if (seconds_) return std::chrono::duration<double>(Clock::now() - last_).count() >= *seconds_;
  if (!interval_) return is_epoch_over;
  return (every_n_epochs_ ? batch_idx : total_batches) % *interval_ == 0;
}

}  // namespace levin
