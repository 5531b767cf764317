#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "trainer/core/communicator.h"
#include "trainer/core/metric_store.h"
#include "trainer/core/metrics.h"
#include "trainer/core/state_dict.h"
#include "trainer/core/step_output.h"
#include "trainer/core/trainer_state.h"

namespace levin {

class LightningModule;
class Batch;

/// What a callback may ask of the loop.
class TrainerControl {
 public:
  virtual ~TrainerControl() = default;
  /// Ends the fit at the next step border, with a last validation if one is due at the end of the epoch.
  virtual void request_stop(const std::string& reason) = 0;
  /// Writes a checkpoint folder at `path` (collective). Nothing else has changed if it throws.
  /// Errors: CheckpointError if it cannot be written.
  virtual void save_checkpoint(const std::filesystem::path& path) = 0;
  /// Logs a value in the row of the current epoch. In a fit: from on_train_epoch_start to on_train_epoch_end.
  virtual void log(std::string_view name, double value) = 0;
};

/// What a callback sees of the run. Valid during the call only.
struct RunContext {
  Stage stage;                ///< What runs now: kValidate also inside a fit.
  const TrainerState& state;  ///< Of the training; batch_idx is that of the current stage.
  const Metrics& metrics;     ///< Newest values by plain name, as of the last logging step or evaluation.
  const MetricStore& store;   ///< Values of the current stage, for displays.
  LightningModule& module;
  Communicator& communicator;
  TrainerControl& control;
  const std::filesystem::path& run_dir;  ///< Empty if the run keeps no files.
  std::optional<int64_t> num_batches;    ///< Of an epoch of the current stage, if known.
  std::optional<int64_t> max_epochs;     ///< nullopt: no limit
  std::optional<int64_t> max_steps;      ///< nullopt: no limit
};

/// Reacts to a run. A callback that could not be left out without changing the weights is not a callback.
///
/// The order of the hooks, for each callback in list order, before the module's hook of the same name where it has one:
///
///   on_fit_start
///   on_train_start
///   for each epoch:
///     on_train_epoch_start
///     for each micro-batch:
///       on_train_batch_start, training_step, backward, on_before_optimizer_step, optimizer step, on_train_batch_end
///     if validation is due:
///       on_validation_start, (on_validation_batch_start, validation_step, on_validation_batch_end)*, on_validation_end
///     on_train_epoch_end
///   on_train_end
///   on_fit_end
///
/// A checkpoint callback comes last in the list, so that it sees what the others have done. Where a hook or a step
/// throws, each callback's on_exception is called instead of the remaining hooks, and the error is thrown on.
class Callback {
 public:
  virtual ~Callback() = default;

  virtual void on_fit_start(const RunContext& /*run*/) {}
  virtual void on_fit_end(const RunContext& /*run*/) {}
  virtual void on_train_start(const RunContext& /*run*/) {}
  virtual void on_train_end(const RunContext& /*run*/) {}
  virtual void on_train_epoch_start(const RunContext& /*run*/) {}
  virtual void on_train_epoch_end(const RunContext& /*run*/) {}
  virtual void on_train_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) {}
  /// `output` is what training_step returned: the loss is neither divided nor scaled.
  virtual void on_train_batch_end(const RunContext& /*run*/, const StepOutput& /*output*/, const Batch& /*batch*/) {}
  virtual void on_before_optimizer_step(const RunContext& /*run*/) {}

  virtual void on_validation_start(const RunContext& /*run*/) {}
  virtual void on_validation_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) {}
  virtual void on_validation_batch_end(const RunContext& /*run*/, const Batch& /*batch*/) {}
  virtual void on_validation_end(const RunContext& /*run*/) {}

  virtual void on_test_start(const RunContext& /*run*/) {}
  virtual void on_test_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) {}
  virtual void on_test_batch_end(const RunContext& /*run*/, const Batch& /*batch*/) {}
  virtual void on_test_end(const RunContext& /*run*/) {}

  virtual void on_predict_start(const RunContext& /*run*/) {}
  virtual void on_predict_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) {}
  virtual void on_predict_batch_end(const RunContext& /*run*/, const Batch& /*predictions*/, const Batch& /*batch*/) {}
  virtual void on_predict_end(const RunContext& /*run*/) {}

  /// Called once, with what ended the run. Does not throw.
  virtual void on_exception(const RunContext& /*run*/, const std::exception& /*error*/) noexcept {}

  /// True for callbacks that must see what all others have done.
  virtual bool runs_last() const { return false; }
  /// What a checkpoint keeps of this callback.
  virtual StateDict state() const { return {}; }
  virtual void load_state(const StateDict& /*state*/) {}
};

}  // namespace levin
