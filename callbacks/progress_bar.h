#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "callbacks/callback.h"
#include "callbacks/console.h"
#include "trainer/core/metrics.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Shows how far the run is: on a terminal one line an epoch, drawn again in place, else a plain line now and then.
///
///   Epoch 2/3 ========>------- 312/468 [00:12<00:06, 24.1 it/s] loss 0.312 val_loss 0.401
///
/// Epochs count from 1 here, batches are micro-batches, and the loss is that of the last micro-batch on rank 0. Values
/// logged with prog_bar follow it; those of validation stay until the next one. At the end of an epoch the line stays,
/// with the values reduced over all ranks. Validation, test and predict show their own progress.
///
/// Writes on rank 0 only. A value that lies on a device is not read while batches run, so the device is never
/// synchronised; the newest value known on the host is shown instead. A batch costs one look at the clock.
class ProgressBar final : public Callback {
 public:
  struct Options {
    /// Seconds between two drawings on a terminal.
    double refresh_interval_s = 0.1;
    /// Seconds between two lines where the output is not a terminal.
    double line_interval_s = 5.0;

    void visit(OptionVisitor& visitor);
  };

  ProgressBar() : ProgressBar(Options{}) {}
  /// console: nullptr for stderr. Errors: ConfigError if an option is not allowed.
  explicit ProgressBar(const Options& options, std::shared_ptr<Console> console = nullptr);

  void on_fit_start(const RunContext& run) override;
  void on_fit_end(const RunContext& run) override;
  void on_train_start(const RunContext& run) override;
  void on_train_epoch_start(const RunContext& run) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;
  void on_train_epoch_end(const RunContext& run) override;

  void on_validation_start(const RunContext& run) override;
  void on_validation_batch_end(const RunContext& run, const Batch& batch) override;
  void on_validation_end(const RunContext& run) override;
  void on_test_start(const RunContext& run) override;
  void on_test_batch_end(const RunContext& run, const Batch& batch) override;
  void on_test_end(const RunContext& run) override;
  void on_predict_start(const RunContext& run) override;
  void on_predict_batch_end(const RunContext& run, const Batch& predictions, const Batch& batch) override;
  void on_predict_end(const RunContext& run) override;

  void on_exception(const RunContext& run, const std::exception& error) noexcept override;

 private:
  // The progress of one pass over a loader.
  struct Pass {
    std::string label = {};
    std::optional<int64_t> total = std::nullopt;
    int64_t num_done = 0;      // batches, also those before a resume
    int64_t num_skipped = -1;  // batches before the first one seen; -1: none seen yet
    double start_s = 0.0;
    double last_s = 0.0;                        // end of the last batch
    double sample_s = 0.0;                      // when the rate was last measured
    int64_t num_at_sample = 0;                  // and num_done at that time
    std::optional<double> rate = std::nullopt;  // batches a second, smoothed
  };

  Pass start_pass(const RunContext& run, std::string label);
  // Counts one batch. Returns true if it is time to draw.
  bool advance(Pass& pass, const RunContext& run);
  void advance_evaluation(const RunContext& run);
  void finish_evaluation(const RunContext& run);
  void collect_running_values(const RunContext& run);
  void collect_final_values(const RunContext& run);
  void draw(Pass& pass, bool is_final);

  Options options_;
  std::shared_ptr<Console> console_;
  bool is_terminal_;
  bool is_fitting_ = false;
  bool is_line_open_ = false;
  double next_draw_s_ = 0.0;
  Pass training_;
  Pass evaluation_;
  Metrics values_;
};

}  // namespace levin
