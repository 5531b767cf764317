#include "callbacks/throughput_monitor.h"

namespace levin {

void ThroughputMonitor::on_train_epoch_start(const RunContext& run) {
  samples_at_start_ = run.state.num_samples;
  end_.reset();
  start_ = Clock::now();
}

void ThroughputMonitor::on_validation_start(const RunContext& /*run*/) {
  if (!end_) end_ = Clock::now();
}

void ThroughputMonitor::on_train_epoch_end(const RunContext& run) {
  const double seconds = std::chrono::duration<double>(end_.value_or(Clock::now()) - start_).count();
  run.control.log("epoch_seconds", seconds);
  if (seconds > 0.0) {
    run.control.log("samples_per_second", static_cast<double>(run.state.num_samples - samples_at_start_) / seconds);
  }
}

}  // namespace levin
