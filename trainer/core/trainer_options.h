#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/core/batch_limit.h"
#include "trainer/core/option_visitor.h"

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
  /// Batches of an epoch, as a count (10) or a fraction (0.1) of what the loader has; 0 leaves the loop out.
  BatchLimit limit_train_batches = {};
  BatchLimit limit_val_batches = {};
  BatchLimit limit_test_batches = {};
  BatchLimit limit_predict_batches = {};
  /// Epochs between two validations.
  int64_t check_val_every_n_epoch = 1;
  /// Optimizer steps between two rows of step metrics; 0: none.
  int64_t log_every_n_steps = 50;
  /// Adds a ModelCheckpoint where there is none.
  bool enable_checkpointing = true;
  /// Adds a ProgressBar where there is none.
  bool enable_progress_bar = true;
  /// Adds a ModelSummary where there is none.
  bool enable_model_summary = true;
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
};

/// Everything that is wrong with the options themselves, one sentence each; empty if nothing is.
std::vector<std::string> find_problems(TrainerOptions options);

}  // namespace levin
