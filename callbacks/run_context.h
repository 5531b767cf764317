#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/core/communicator.h"
#include "trainer/core/metric_store.h"
#include "trainer/core/metrics.h"
#include "trainer/core/trainer_options.h"
#include "trainer/core/trainer_state.h"

namespace levin {

class LightningModule;
class Logger;
class Optimizers;

/// A symbolic link.
struct LinkTarget {
  std::filesystem::path link;
  std::string target;  ///< As it stands in the link: relative to the link's folder.
};

/// How a checkpoint is saved.
struct SaveOptions {
  /// Only the weights, the position and the hyper-parameters: such a checkpoint cannot be resumed from.
  bool weights_only = false;
  /// Links that are moved, each in one step, once this one is complete. Left out: those whose target is not there.
  std::vector<LinkTarget> links = {};
  /// Folders of older checkpoints that are removed once the links are moved, and not before.
  std::vector<std::filesystem::path> replaces = {};
  /// A save that fails (full disk) does not end the run: it is reported on stderr, and nothing is removed.
  bool continue_on_error = false;
};

/// What a callback may ask of the loop. Outside of a fit, all but log() throw ConfigError.
class TrainerControl {
 public:
  virtual ~TrainerControl() = default;

  /// Ends the fit at the next step border once min_epochs and min_steps are reached, with a last validation if one is
  /// due at the end of the epoch. Any rank that asks stops all ranks. A checkpoint does not keep the request: when a
  /// fit is resumed, a callback whose reason still holds under its present options asks again in on_fit_start or
  /// on_train_start, and the fit then ends at once.
  virtual void request_stop(const std::string& reason) = 0;
  /// Saves the run at `path`, a folder, once all callbacks have had the hook that runs now, so that the checkpoint
  /// holds the state of all of them (collective). The state is copied then; the files are written in the background.
  /// Errors: CheckpointError from the next step border on if it could not be written, see SaveOptions.
  virtual void save_checkpoint(const std::filesystem::path& path, const SaveOptions& options) = 0;
  void save_checkpoint(const std::filesystem::path& path) { save_checkpoint(path, {}); }
  /// Puts weights, optimizers, precision and the number of steps back to those of a checkpoint at the next step border.
  /// The position in the data stays, so that the batches in between are not seen again; loggers drop the rows after it.
  virtual void go_back_to(const std::filesystem::path& checkpoint) = 0;
  /// The newest checkpoint of this fit that is complete, which in a resumed fit is at first the one that it goes on
  /// from; nullopt if there is none.
  virtual std::optional<std::filesystem::path> last_checkpoint() = 0;
  /// Gives `path` to `owner` (a callback's state_key) until the fit ends, so that no other callback writes there. False
  /// if another owner has it. Each rank keeps its own list.
  virtual bool claim(const std::filesystem::path& path, const std::string& owner) = 0;

  /// Leaves out the optimizer step that is about to be made: its gradients are dropped and global_step stays.
  /// In on_before_optimizer_step only.
  virtual void skip_optimizer_step() = 0;
  /// Micro-batches of an optimizer step, from the next window on; >= 1.
  virtual void set_accumulate_grad_batches(int64_t num_batches) = 0;

  /// Logs a value, as StepContext::log does. In hooks of a batch it belongs to the step (on_step by default), in hooks
  /// of an epoch or of a whole stage to the epoch. Weight 1 unless options.weight is set.
  virtual void log(std::string_view name, double value, const LogOptions& options) = 0;
  void log(std::string_view name, double value) { log(name, value, {}); }
};

/// What a callback sees of the run. Valid during the call only.
struct RunContext {
  Stage stage;                ///< What runs now: kValidate also inside a fit.
  bool is_sanity_checking;    ///< A validation before the training, whose metrics are dropped.
  bool is_fitting;            ///< A fit runs, perhaps its validation.
  bool has_validation;        ///< The fit validates at all.
  const TrainerState& state;  ///< Of the training; batch_idx is that of the current stage.
  const Metrics& metrics;     ///< Newest values by plain name, as of the last logging step or evaluation.
  const MetricStore& store;   ///< Values of the current stage, for displays.
  LightningModule& module;
  Optimizers* optimizers;  ///< nullptr outside of a fit.
  Communicator& communicator;
  TrainerControl& control;
  const std::vector<std::shared_ptr<Logger>>& loggers;
  const TrainerOptions& options;
  const std::filesystem::path& run_dir;  ///< Empty if the run keeps no files.
  std::optional<int64_t> num_batches;    ///< Of an epoch of the current stage, if known.
  std::optional<int64_t> max_epochs;     ///< nullopt: no limit
  std::optional<int64_t> max_steps;      ///< nullopt: no limit

  /// True if the optimizer step that comes next, or (in on_train_batch_end) the one just done, gets a row in the log.
  bool is_logging_step = false;
  /// Where the batch of this hook comes from, see DataLoader::sample_indices(). In hooks of evaluation batches only.
  std::span<const int64_t> sample_indices = {};
};

}  // namespace levin
