#pragma once

#include <optional>
#include <string>
#include <vector>

#include "callbacks/callback.h"
#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"

namespace levin {

/// Logs the learning rate of each optimizer, and its momentum and weight decay if asked for.
///
/// Names: `lr-AdamW`, after the class of the optimizer; `lr-AdamW-1`, `lr-AdamW-2` for further optimizers of that
/// class; `lr-AdamW/pg1`, `lr-AdamW/pg2` where an optimizer has several parameter groups, as no_decay makes them. To
/// these the momentum adds "-momentum", and the weight decay "-weight_decay".
///
/// By step: on logging steps, the value that this optimizer step uses; with manual optimization, the value before the
/// first optimizer step of the batch. By epoch: the value at the start of the epoch, in the row of the epoch. It is
/// never a mean over steps. Between two logging steps it does nothing.
class LearningRateMonitor final : public Callback {
 public:
  struct Options {
    /// "step" or "epoch": when all values are logged. Unset: as often as the schedule of each optimizer has its steps;
    /// without a schedule, by step.
    std::optional<std::string> logging_interval = std::nullopt;
    /// Log the momentum too, or beta1 of Adam and its kin. Optimizers without either log none.
    bool log_momentum = false;
    /// Log the weight decay too. Optimizers without one log none.
    bool log_weight_decay = false;

    void visit(OptionVisitor& visitor);
  };

  LearningRateMonitor() : LearningRateMonitor(Options{}) {}
  /// Errors: ConfigError if an option is not allowed.
  explicit LearningRateMonitor(const Options& options);

  void on_train_start(const RunContext& run) override;
  void on_train_epoch_start(const RunContext& run) override;
  void on_train_batch_start(const RunContext& run, const Batch& batch) override;
  void on_before_optimizer_step(const RunContext& run) override;

  /// Other callbacks may change the rate of the step.
  bool runs_last() const override { return true; }

 private:
  /// Of one parameter group.
  struct Names {
    std::string learning_rate, momentum, weight_decay;
  };

  bool is_logged_by(ScheduleInterval interval, const ScheduleConfig& schedule) const;
  void make_names(const Optimizers& optimizers);
  void log(const RunContext& run, ScheduleInterval interval);
  void log_group(const RunContext& run, const Names& names, size_t optimizer, size_t group,
                 const LogOptions& log_options) const;

  Options options_;
  std::vector<std::vector<Names>> names_;  // of each optimizer's groups
  bool is_due_ = false;                    // in the next optimizer step
};

}  // namespace levin
