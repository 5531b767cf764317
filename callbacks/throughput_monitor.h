#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "callbacks/callback.h"

namespace levin {

/// Logs how fast each epoch was trained: `epoch_seconds`, the wall time of its training batches without validation, and
/// `samples_per_second`.
class ThroughputMonitor final : public Callback {
 public:
  void on_train_epoch_start(const RunContext& run) override;
  void on_validation_start(const RunContext& run) override;
  void on_train_epoch_end(const RunContext& run) override;

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = {};
  std::optional<Clock::time_point> end_ = std::nullopt;  // of the training batches
  int64_t samples_at_start_ = 0;
};

}  // namespace levin
