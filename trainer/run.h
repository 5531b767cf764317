#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "callbacks/run_context.h"
#include "trainer/callback_list.h"
#include "trainer/core/metrics.h"
#include "trainer/core/trainer_options.h"
#include "trainer/core/trainer_state.h"
#include "trainer/hooks.h"
#include "trainer/intra_op_threads.h"
#include "trainer/report/run_record.h"
#include "trainer/run_folder.h"
#include "trainer/trainer_parts.h"

namespace levin {

class LightningDataModule;

/// The on_step values of one evaluation batch, which is the batch_idx-th of its pass.
struct BatchRow {
  int64_t batch_idx;
  Metrics metrics;
};

/// What the loops of one Trainer share: its parts, where the training stands, and where the run's files go. It only
/// holds them; the loops act.
struct Run {
  TrainerOptions options;
  TrainerParts parts;
  CallbackList callbacks;
  uint64_t seed = 0;
  TrainerState state = {};
  /// Newest values by plain name: what callbacks monitor.
  Metrics metrics = {};
  /// Batches of whole passes over the data, by Stage. Of kTrain and kPredict nobody counts them.
  std::array<int64_t, 4> num_eval_batches = {};
  std::unique_ptr<RunFolder> folder = nullptr;

  /// The data module of the call that runs; nullptr if it got loaders.
  LightningDataModule* data = nullptr;
  Profiler* profiler = nullptr;
  /// What the run writes into run.json.
  RunRecord record = {};

  IntraOpThreads intra_op_threads = {};
  /// What the batch-size finder has set on the data module.
  std::optional<int64_t> batch_size = std::nullopt;
  bool are_hyperparameters_logged = false;
  /// on_exception was called in the call that runs.
  bool is_error_told = false;

  Hooks hooks(LightningModule& module) const { return {callbacks, module, profiler}; }
  /// Calls on_exception of the callbacks and of the data module, once in a call of the Trainer.
  void tell_error(const RunContext& context, const std::exception& error) noexcept;

  /// Goes on in the folder of the run that a checkpoint is of. Opens the loggers.
  void reopen_folder(const std::filesystem::path& run_dir);
  /// Makes the run folder and opens the loggers, once, if anything is to be kept.
  void open_folder();
  /// Drops a folder in which nothing has been kept yet.
  void discard_unkept_folder();
  std::filesystem::path folder_path() const { return folder ? folder->path() : std::filesystem::path(); }

  /// Hands a row to every logger, on rank 0; without values, nothing.
  void log_row(const Metrics& row);
  /// The same for the batches of a pass that is done: their on_step values.
  void log_batch_rows(const std::vector<BatchRow>& rows, Stage stage);
  void flush_loggers();
};

}  // namespace levin
