#include "callbacks/throughput_monitor.h"

#include <ATen/ops/from_blob.h>

#include <array>
#include <chrono>
#include <utility>

#include "callbacks/check_options.h"

namespace levin {

void ThroughputMonitor::Options::visit(OptionVisitor& visitor) {
  visitor.field("window", window, "micro-batches over which a rate is taken", at_least(1));
  visitor.field("flops_per_sample", flops_per_sample, "floating-point operations for one sample; 0: not known",
                at_least(0));
}

ThroughputMonitor::ThroughputMonitor(const Options& options, std::function<double()> now_s)
    : options_(options), now_s_(std::move(now_s)) {
  check_options("ThroughputMonitor", options_);
  if (now_s_) return;
  now_s_ = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
}

void ThroughputMonitor::on_train_start(const RunContext& run) {
  start_epoch(run);
  const bool is_within_epoch = run.state.batch_idx > 0 && resumed_samples_at_start_ >= 0;
  if (is_within_epoch) {
    seconds_at_start_ -= resumed_seconds_;
    samples_at_start_ = resumed_samples_at_start_;
  }
  resumed_samples_at_start_ = -1;
}

StateDict ThroughputMonitor::state() const {
  StateDict state;
  state.set("epoch_seconds", training_seconds() - seconds_at_start_);
  state.set("samples_at_start", samples_at_start_);
  return state;
}

void ThroughputMonitor::load_state(const StateDict& state) {
  resumed_seconds_ = state.real("epoch_seconds");
  resumed_samples_at_start_ = state.integer("samples_at_start");
}

void ThroughputMonitor::start_epoch(const RunContext& run) {
  resume();
  seconds_at_start_ = training_seconds();
  samples_at_start_ = run.state.num_samples;
  marks_.clear();
  marks_.push_back({seconds_at_start_, num_samples_});
}

void ThroughputMonitor::on_train_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) { resume(); }

void ThroughputMonitor::on_train_batch_end(const RunContext& run, const StepOutput& /*output*/, const Batch& batch) {
  num_samples_ += batch.batch_size();
  marks_.push_back({training_seconds(), num_samples_});
  if (static_cast<int64_t>(marks_.size()) > options_.window + 1) marks_.pop_front();
  if (run.is_logging_step) log_rates(run);
}

void ThroughputMonitor::on_validation_start(const RunContext& run) {
  if (run.is_fitting) pause();
}

void ThroughputMonitor::on_validation_end(const RunContext& run) {
  if (run.is_fitting && !run.is_sanity_checking) resume();
}

// The end of the save has no hook: the clock goes on with the next batch.
void ThroughputMonitor::on_save_checkpoint(const RunContext& /*run*/, StateDict& /*model*/) { pause(); }

void ThroughputMonitor::on_train_epoch_end(const RunContext& run) {
  const double seconds = training_seconds() - seconds_at_start_;
  pause();
  run.control.log("epoch_seconds", seconds);
  if (seconds > 0.0) {
    run.control.log("samples_per_second", static_cast<double>(run.state.num_samples - samples_at_start_) / seconds);
  }
}

double ThroughputMonitor::training_seconds() const {
  return seconds_before_ + (is_running_ ? now_s_() - running_since_ : 0.0);
}

void ThroughputMonitor::pause() {
  seconds_before_ = training_seconds();
  is_running_ = false;
}

void ThroughputMonitor::resume() {
  if (!is_running_) running_since_ = now_s_();
  is_running_ = true;
}

void ThroughputMonitor::log_rates(const RunContext& run) const {
  const double seconds = marks_.back().seconds - marks_.front().seconds;
  std::array<double, 2> rates = {0.0, 0.0};  // samples, batches
  if (seconds > 0.0) {
    rates[0] = static_cast<double>(marks_.back().samples - marks_.front().samples) / seconds;
    rates[1] = static_cast<double>(marks_.size() - 1) / seconds;
  }
  if (run.communicator.world_size() > 1) {
    at::Tensor packed = at::from_blob(rates.data(), {2}, at::kDouble);
    run.communicator.all_reduce(packed, ReduceOp::kSum);
  }
  run.control.log("throughput/samples_per_second", rates[0]);
  run.control.log("throughput/batches_per_second", rates[1]);
  if (options_.flops_per_sample > 0.0) {
    run.control.log("throughput/tflops_per_second", rates[0] * options_.flops_per_sample * 1e-12);
  }
}

}  // namespace levin
