#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "callbacks/callback.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Logs how fast the training is. Time in validations is left out, as is the time from the save of a checkpoint to the
/// next batch.
///
/// On logging steps, over the last `window` micro-batches and summed over all ranks (collective):
/// - `throughput/samples_per_second`, `throughput/batches_per_second`
/// - `throughput/tflops_per_second`, in 10^12 operations, if flops_per_sample is set
///
/// At the end of each epoch: `epoch_seconds` and `samples_per_second`.
class ThroughputMonitor final : public Callback {
 public:
  struct Options {
    /// Micro-batches over which a rate is taken.
    int64_t window = 100;
    /// Floating-point operations for one sample, forward and backward; 0: not known.
    double flops_per_sample = 0.0;

    void visit(OptionVisitor& visitor);
  };

  ThroughputMonitor() : ThroughputMonitor(Options{}) {}
  /// now_s: seconds on a clock that never goes back; nullptr: the system's. Errors: ConfigError if an option is not
  /// allowed.
  explicit ThroughputMonitor(const Options& options, std::function<double()> now_s = nullptr);

  void on_train_start(const RunContext& run) override;
  void on_train_epoch_start(const RunContext& run) override { start_epoch(run); }
  void on_train_batch_start(const RunContext& run, const Batch& batch) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;
  void on_validation_start(const RunContext& run) override;
  void on_validation_end(const RunContext& run) override;
  void on_save_checkpoint(const RunContext& run, StateDict& model) override;
  void on_train_epoch_end(const RunContext& run) override;

  std::string state_key() const override { return "ThroughputMonitor"; }
  /// How far the epoch was, so that its figures stay right if the run is resumed within it.
  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  void start_epoch(const RunContext& run);
  /// Where the training stood at the end of a micro-batch.
  struct Mark {
    double seconds;
    int64_t samples;
  };

  double training_seconds() const;
  void pause();
  void resume();
  void log_rates(const RunContext& run) const;

  Options options_;
  std::function<double()> now_s_;
  double running_since_ = 0.0;
  double seconds_before_ = 0.0;  // of training, up to the last pause
  bool is_running_ = false;
  int64_t num_samples_ = 0;  // of this rank
  std::deque<Mark> marks_;
  double seconds_at_start_ = 0.0;  // of the epoch
  int64_t samples_at_start_ = 0;
  double resumed_seconds_ = 0.0;  // of the epoch, before the resume
  int64_t resumed_samples_at_start_ = -1;
};

}  // namespace levin
