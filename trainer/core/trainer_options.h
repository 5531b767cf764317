#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/core/batch_limit.h"
#include "trainer/core/micro_batch_size.h"
#include "trainer/core/option_visitor.h"
#include "trainer/core/validation_interval.h"

namespace levin {

/// How a Trainer runs. Plain data with a default on every field, so that
/// `levin::Trainer trainer({.max_epochs = 3})` works; the same names stand under `trainer:` in YAML.
struct TrainerOptions {
  /// "auto" (CUDA where this build and machine have it), "cpu" or "cuda".
  std::string accelerator = "auto";
  /// How the model is spread over devices: "auto" or "single".
  std::string strategy = "auto";
  /// Devices to use.
  int64_t devices = 1;
  /// Shorthand for accelerator = "cuda" and devices = gpus. 0: not used.
  int64_t gpus = 0;
  /// "32-true" or "64-true".
  std::string precision = "32-true";
  /// Epochs to train; -1: no limit. With neither max_epochs nor max_steps, 1000.
  int64_t max_epochs = -1;
  /// Optimizer steps to train; -1: no limit.
  int64_t max_steps = -1;
  /// No end before so many epochs and steps, whatever asks for it; the limits above excepted.
  int64_t min_epochs = 0;
  int64_t min_steps = 0;
  /// Time to train, as "DD:HH:MM:SS" or "90m"; "": no limit. Time before a resume counts.
  std::string max_time = {};
  /// Batches of an epoch, as a count (10) or a fraction (0.1) of what the loader has; 0 leaves the loop out.
  BatchLimit limit_train_batches = {};
  BatchLimit limit_val_batches = {};
  BatchLimit limit_test_batches = {};
  BatchLimit limit_predict_batches = {};
  /// Trains and validates on the first batches only, in their order, to see that a model can learn them; 0: off.
  BatchLimit overfit_batches = 0;
  /// A trial of everything: so many batches of each stage, one epoch, without loggers and checkpoints; 0: off.
  int64_t fast_dev_run = 0;
  /// Validations within an epoch: every so many batches (250), fractions of the epoch (0.25), or after a time ("30m").
  ValidationInterval val_check_interval = {};
  /// Epochs between two validations. Unset: val_check_interval counts batches over the borders of epochs.
  std::optional<int64_t> check_val_every_n_epoch = 1;
  /// Batches of a validation before the training, which finds mistakes early; -1: all, 0: none. Not for a fit that is
  /// resumed within an epoch.
  int64_t num_sanity_val_steps = 2;
  /// Micro-batches of one optimizer step. The step equals that of one large batch, whatever the sizes of the
  /// micro-batches and also for a last, short window.
  int64_t accumulate_grad_batches = 1;
  /// A window that is not full at the end of an epoch goes on in the next one, instead of making a short step.
  bool accumulate_across_epochs = false;
  /// Samples that go through the model at once. A batch with more is split, and the gradients of its parts are
  /// accumulated, with the same result. "auto": as many as fit; where memory runs out, the part is halved and run
  /// again. "none": the whole batch.
  MicroBatchSize micro_batch_size = {};
  /// Memory that tensors may take on the CPU, as "8GiB", beyond which an operation fails as on a GPU that is full, so
  /// that micro_batch_size "auto" and the batch-size finder have a limit to find. Counted are the tensors that the fit
  /// makes itself. "": what the machine has.
  std::string memory_limit = {};
  /// Limit of the gradients, in the sense of gradient_clip_algorithm. Unset: none.
  std::optional<double> gradient_clip_val = std::nullopt;
  /// "norm" (L2 norm of all gradients of an optimizer) or "value" (each element).
  std::string gradient_clip_algorithm = "norm";
  /// Scales the learning rates with the number of samples of a step: "none", "linear" or "sqrt" of its ratio to
  /// lr_reference_batch_size.
  std::string lr_scaling = "none";
  int64_t lr_reference_batch_size = 256;
  /// Optimizer steps between two rows of step metrics; 0: none.
  int64_t log_every_n_steps = 50;
  /// Epochs after which the data module is asked for new loaders; 0: never.
  int64_t reload_dataloaders_every_n_epochs = 0;
  /// Threads that one operation on the CPU computes with. Unset: what OMP_NUM_THREADS or at::set_num_threads() says, or
  /// the cores divided by the ranks of this host. The workers of loaders compute with one thread each.
  std::optional<int64_t> intra_op_threads = std::nullopt;
  /// Refuses operations whose result is not the same each time. "deterministic_warn_only" warns instead.
  bool deterministic = false;
  bool deterministic_warn_only = false;
  /// Lets cuDNN try which algorithm is fastest for the shapes that it meets.
  bool benchmark = false;
  /// Ends the run at the first gradient that is not finite, and names the operation, the parameter and the step. Slow.
  bool detect_anomaly = false;
  /// validate, test and predict on their own run in inference mode; false: without gradients only.
  bool inference_mode = true;
  /// "" (none), "simple", "trace" or "memory": see docs/profiling.md.
  std::string profiler = {};
  /// Nothing but the loop: no checkpoints, loggers, progress bar, summary, sanity check or report.
  bool barebones = false;
  /// Adds a ModelCheckpoint where there is none.
  bool enable_checkpointing = true;
  /// Adds a ProgressBar where there is none.
  bool enable_progress_bar = true;
  /// Adds a ModelSummary where there is none.
  bool enable_model_summary = true;
  /// Writes report.html into the run folder when a fit ends.
  bool enable_report = true;
  /// SIGINT and SIGTERM end a fit at the next step border, with a checkpoint; a second SIGINT ends at once.
  bool handle_signals = true;
  /// Runs are kept in <default_root_dir>/runs/<experiment_name>/version_<n>.
  std::string default_root_dir = ".";
  std::string experiment_name = "default";
  /// Adds a CSVLogger where no logger is given. In YAML this is the key `logger:` beside `trainer:`.
  bool logger = true;
  /// Seeds initial weights, data order and dropout. Unset: drawn anew for each run, and saved with it. In YAML this is
  /// the key `seed:` beside `trainer:`.
  std::optional<uint64_t> seed = std::nullopt;

  /// Visits every field that stands under `trainer:` in YAML.
  void visit(OptionVisitor& visitor);

  void visit_optimization(OptionVisitor& visitor);  ///< Part of visit().
  void visit_execution(OptionVisitor& visitor);     ///< Part of visit().
};

/// The options that hold where fast_dev_run, overfit_batches or barebones ask for others.
TrainerOptions resolve_shorthands(TrainerOptions options);

/// Everything that is wrong with the options themselves, one sentence each; empty if nothing is.
std::vector<std::string> find_problems(TrainerOptions options);

}  // namespace levin
