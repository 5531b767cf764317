#include "trainer/run.h"

#include <algorithm>
#include <utility>

#include "trainer/config/effective_config.h"
#include "trainer/core/lightning_data_module.h"

namespace levin {

void Run::tell_error(const RunContext& context, const std::exception& error) noexcept {
  if (std::exchange(is_error_told, true)) return;
  callbacks.on_exception(context, error);
  if (data != nullptr) data->on_exception(error);
}

void Run::reopen_folder(const std::filesystem::path& run_dir) {
  folder = std::make_unique<RunFolder>(run_dir);
  for (const auto& logger : parts.loggers) logger->open(run_dir);
}

void Run::open_folder() {
  if (folder || (parts.loggers.empty() && !options.enable_checkpointing)) return;
  const std::string config = parts.config_yaml.empty() ? effective_config(options, seed) : parts.config_yaml;
  folder = std::make_unique<RunFolder>(options.default_root_dir, options.experiment_name, config);
  for (const auto& logger : parts.loggers) logger->open(folder->path());
}

void Run::discard_unkept_folder() {
  if (folder && !folder->is_kept()) folder.reset();
}

void Run::log_row(const Metrics& row) {
  if (row.empty() || parts.strategy->communicator().rank() != 0) return;
  // Rows are numbered by the last step done, from 0.
  const int64_t step = std::max<int64_t>(state.global_step - 1, 0);
  for (const auto& logger : parts.loggers) logger->log_metrics(row, step, state.epoch);
}

void Run::log_batch_rows(const std::vector<BatchRow>& rows, Stage stage) {
  if (parts.strategy->communicator().rank() != 0) return;
  EvaluationBatch batch = {.stage = stage == Stage::kTest ? "test" : "validation",
                           .batch_idx = 0,
                           .total_batches = num_eval_batches[static_cast<size_t>(stage)],
                           .step = std::max<int64_t>(state.global_step - 1, 0),
                           .epoch = state.epoch};
  for (const BatchRow& row : rows) {
    batch.batch_idx = row.batch_idx;
    for (const auto& logger : parts.loggers) logger->log_batch_metrics(row.metrics, batch);
  }
}

void Run::flush_loggers() {
  for (const auto& logger : parts.loggers) logger->flush();
}

}  // namespace levin
