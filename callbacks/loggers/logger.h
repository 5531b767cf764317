#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/core/metrics.h"
#include "trainer/core/state_dict.h"

namespace levin {

/// Where a row of a single batch of an evaluation belongs.
struct EvaluationBatch {
  std::string_view stage;  ///< "validation" or "test"
  int64_t batch_idx;       ///< In its pass, from 0.
  int64_t total_batches;   ///< Of this stage in the run, before this one: over passes that a resume goes on from too.
  int64_t step;            ///< These two as in log_metrics().
  int64_t epoch;
};

/// Where metrics go. Called on rank 0 only, from one thread.
class Logger {
 public:
  /// Names and values as text, for example {"model.hidden_dim", "128"}.
  using Hyperparameters = std::vector<std::pair<std::string, std::string>>;

  virtual ~Logger() = default;

  /// Called once, before the first row; run_dir exists. Goes on with what is there already: see load_state().
  /// Errors: OutputError if the log cannot be written.
  virtual void open(const std::filesystem::path& run_dir) = 0;
  /// One row. `step` is the index of the last optimizer step done, from 0; `epoch` from 0.
  /// Errors of this and the following: OutputError.
  virtual void log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) = 0;
  /// A row of a single batch of an evaluation. Default: a row of log_metrics(), with batch_idx as "<stage>_batch".
  virtual void log_batch_metrics(const Metrics& metrics, const EvaluationBatch& batch) {
    Metrics row;
    row.set(std::string(batch.stage) + "_batch", static_cast<double>(batch.batch_idx));
    row.set_all(metrics);
    log_metrics(row, batch.step, batch.epoch);
  }
  /// Once, before the first row of a run that is not resumed. Default of this and the next three: not kept.
  virtual void log_hyperparameters(const Hyperparameters& /*hyperparameters*/) {}
  virtual void log_text(std::string_view /*name*/, std::string_view /*text*/, int64_t /*step*/) {}
  /// `values`: any shape, numbers.
  virtual void log_histogram(std::string_view /*name*/, const at::Tensor& /*values*/, int64_t /*step*/) {}
  /// `image` [C, H, W], C 1 or 3; uint8, or floating in [0, 1].
  virtual void log_image(std::string_view /*name*/, const at::Tensor& /*image*/, int64_t /*step*/) {}
  /// What has been logged so far survives a kill of the process after this returns.
  virtual void flush() = 0;

  /// Where the log stands, for a checkpoint. flush() has been called.
  virtual StateDict state() const { return {}; }
  /// Called after open() where a run is resumed, or goes back to an older checkpoint: what was logged after state() is
  /// dropped, so that each row is there once. Errors: OutputError if the log is not the one that the state is of.
  virtual void load_state(const StateDict& /*state*/) {}
};

}  // namespace levin
