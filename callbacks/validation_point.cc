#include "callbacks/validation_point.h"

#include <algorithm>

namespace levin {

bool is_validation_next(const RunContext& run) {
  const ValidationInterval& interval = run.options.val_check_interval;
  if (!run.has_validation || interval.is_time()) return false;
  const auto& every_n_epochs = run.options.check_val_every_n_epoch;
  int64_t num_done = run.state.batch_idx + 1;
  if (every_n_epochs) {
    if (*every_n_epochs < 1 || (run.state.epoch + 1) % *every_n_epochs != 0) return false;
  } else if (run.num_batches) {
    num_done += run.state.epoch * *run.num_batches;
  } else if (run.state.epoch > 0) {
    return false;
  }
  if (interval.is_batches()) return num_done % std::max<int64_t>(interval.batches(), 1) == 0;
  if (!run.num_batches) return false;
  const auto distance = static_cast<int64_t>(static_cast<double>(*run.num_batches) * interval.fraction());
  return num_done % std::max<int64_t>(distance, 1) == 0;
}

bool validates_at_each_epoch_end(const RunContext& run) {
  return run.has_validation && run.options.val_check_interval == ValidationInterval(1.0) &&
         run.options.check_val_every_n_epoch == 1;
}

}  // namespace levin
