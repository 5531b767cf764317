#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "callbacks/callback.h"
#include "callbacks/clock.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Logs how fast the training is. Time in validations is left out, as is the time from the save of a checkpoint to the
/// next batch.
///
/// On logging steps, over the last `window` micro-batches and summed over all ranks (collective):
/// - `throughput/samples_per_second`, `throughput/batches_per_second`
/// - `throughput/tokens_per_second`, with tokens_per_sample or tokens_from
/// - `throughput/tflops_per_second`, in 10^12 operations, if flops_per_sample is set
/// - `throughput/peak_share`, 0 to 1, with measure_peak or peak_tflops: these operations as a share of what the devices
///   of all ranks could do, known as model FLOP/s utilisation
///
/// At the end of each epoch: `epoch_seconds` and `samples_per_second`.
///
/// A run has one: two of them would write the same columns.
class ThroughputMonitor final : public Callback {
 public:
  struct Options {
    /// Micro-batches over which a rate is taken.
    int64_t window = 100;
    /// Floating-point operations for one sample, forward and backward; 0: not known. For a transformer about
    /// 6 * parameters without embeddings * tokens (Kaplan et al. 2020, section 2.1).
    double flops_per_sample = 0.0;
    /// Tokens of one sample, or their mean; 0: not known.
    double tokens_per_sample = 0.0;
    /// The field of the batch whose elements are the tokens, padding included, as "input_ids". Not together with
    /// tokens_per_sample.
    std::optional<std::string> tokens_from = std::nullopt;
    /// Measure what the device can do in products of matrices, in the type in which the model makes them, when a fit
    /// starts: about half a second, see measure_matmul_rate(). Needs flops_per_sample.
    bool measure_peak = false;
    /// What one device can do, in 10^12 operations a second; 0: not known. Instead of measure_peak.
    double peak_tflops = 0.0;

    void visit(OptionVisitor& visitor);
  };
  /// Operations a second that a device can do in products of a type, > 0; 0: not known.
  using MeasurePeak = std::function<double(at::Device device, at::ScalarType dtype)>;

  ThroughputMonitor() : ThroughputMonitor(Options{}) {}
  /// now_s: seconds on a clock that never goes back; nullptr: the system's. measure_peak: nullptr:
  /// measure_matmul_rate(). Errors: ConfigError, which names all options that are wrong.
  explicit ThroughputMonitor(const Options& options, ClockFunction now_s = nullptr, MeasurePeak measure_peak = nullptr);

  /// Measures the peak, once for each device and type. Collective.
  void on_fit_start(const RunContext& run) override;
  void on_train_start(const RunContext& run) override;
  void on_train_epoch_start(const RunContext& run) override { start_epoch(run); }
  /// Errors: ConfigError if the batch has no tensor that tokens_from names.
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
    double tokens;
  };

  double tokens_of(const Batch& batch) const;
  double training_seconds() const;
  void pause();
  void resume();
  void log_rates(const RunContext& run) const;

  Options options_;
  ClockFunction now_s_;
  MeasurePeak measure_peak_;
  double peak_flops_;  // of this rank's device a second; 0: not known
  std::optional<std::pair<at::Device, at::ScalarType>> peak_is_of_ = {};  // if it was measured
  double running_since_ = 0.0;
  double seconds_before_ = 0.0;  // of training, up to the last pause
  bool is_running_ = false;
  int64_t num_samples_ = 0;  // of this rank
  double num_tokens_ = 0.0;
  double tokens_of_batch_ = 0.0;
  std::deque<Mark> marks_;
  double seconds_at_start_ = 0.0;  // of the epoch
  int64_t samples_at_start_ = 0;
  double resumed_seconds_ = 0.0;  // of the epoch, before the resume
  int64_t resumed_samples_at_start_ = -1;
};

}  // namespace levin
