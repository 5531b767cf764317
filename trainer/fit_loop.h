#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "callbacks/callback.h"
#include "trainer/checkpoint_writer.h"
#include "trainer/core/data_loader.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/metric_store.h"
#include "trainer/eval_loop.h"
#include "trainer/fit_data.h"
#include "trainer/fit_position.h"
#include "trainer/fit_result.h"
#include "trainer/optimizer_driver.h"
#include "trainer/run.h"
#include "trainer/train_step.h"
#include "trainer/validation_schedule.h"

namespace levin {

/// The training loop: run -> run_epoch -> train_batch -> TrainStep::run -> training_step.
class FitLoop final : public TrainerControl {
 public:
  /// The references must outlive the loop. Errors: ConfigError where options do not fit the data or the optimizers.
  /// on_epoch_done: called at the end of each epoch, when its files are complete.
  FitLoop(Run& run, LightningModule& module, Optimizers& optimizers, FitData& data,
          std::function<void()> on_epoch_done = nullptr);

  /// Goes on from a checkpoint of a fit, whose weights and callbacks are loaded already. Before run().
  /// folder: where it is, for last_checkpoint(). Errors: CheckpointError.
  void load_state(const Checkpoint& checkpoint, const std::filesystem::path& folder);

  /// Trains until a limit is reached, a callback asks for the end, or a signal arrives. Errors: whatever a step, a hook
  /// or the loader throws; LibTorch's errors in a step as ModelError. The callbacks' on_exception has then been called.
  FitStatus run();

  /// What automatic micro-batching has found; 0: whole batches fit.
  int64_t micro_batch_limit() const;

  void request_stop(const std::string& reason) override;
  void save_checkpoint(const std::filesystem::path& path, const SaveOptions& options) override;
  void go_back_to(const std::filesystem::path& checkpoint) override;
  std::optional<std::filesystem::path> last_checkpoint() override;
  bool claim(const std::filesystem::path& path, const std::string& owner) override;
  void skip_optimizer_step() override;
  void set_accumulate_grad_batches(int64_t num_batches) override;
  void log(std::string_view name, double value, const LogOptions& options) override;

 private:
  struct PendingSave {
    std::filesystem::path path;
    SaveOptions options;
  };
  /// Where values go that a callback logs.
  enum class LogTarget { kNone, kStep, kEpoch };

  void start_training();
  void end_training();
  void end_by_error(const std::exception& error);
  FitStatus end_by_signal(int signal);
  void check_sanity();
  void run_epoch();
  void start_epoch();
  void end_epoch(bool is_whole);
  std::optional<Batch> next_batch();
  void train_batch(Batch host_batch);
  void step_window(const Batch& batch);
  void close_window();
  void end_batch();
  void validate();
  void log_step();
  void reduce_into_row(MetricStore& store);
  void check_signals() const;
  void check_signals_after_epoch();

  bool is_done() const;
  bool is_past_last_epoch() const;
  bool may_stop() const;
  bool may_stop_in_epoch() const;
  bool is_last_step_done() const;
  bool is_resumable_point() const;
  bool is_row_due(int64_t global_step) const;
  bool is_validation_due(bool is_epoch_over) const;
  int64_t window_size() const;
  double seconds() const;
  std::optional<int64_t> total_steps() const;
  std::optional<int64_t> global_batch_size() const;

  void check_manual_options() const;
  void make_validation();
  void reload_data();
  void update_num_batches();
  void flush_saves();
  void go_back();
  Checkpoint checkpoint(bool weights_only);
  RunContext make_context();
  MetricStore* log_store();
  StepContext hook_context(LogTarget target);

  Run& run_;
  LightningModule& module_;
  FitData& data_;
  std::function<void()> on_epoch_done_;
  Strategy& strategy_;
  std::filesystem::path run_dir_;
  OptimizerDriver driver_;
  MetricStore store_{Stage::kTrain};           // of the steps
  MetricStore epoch_store_{Stage::kValidate};  // of the epoch's own hooks
  Hooks hooks_;
  FitPosition position_;
  CheckpointWriter writer_;
  std::vector<PendingSave> pending_saves_;
  std::optional<std::filesystem::path> pending_go_back_;
  std::map<std::filesystem::path, std::string> owners_;  // of the paths that callbacks claimed
  std::filesystem::path resumed_from_;
  StateDict resumed_loggers_;  // where the logs of this run stood then; the checkpoint may know those of another run
  Metrics epoch_row_;          // what the loggers get at the end of the epoch
  std::optional<int64_t> max_epochs_;
  std::optional<int64_t> max_steps_;
  std::optional<double> max_seconds_;
  std::optional<int64_t> num_batches_;
  ValidationSchedule validation_schedule_;
  RunContext context_;
  TrainStep step_;
  std::optional<EvalLoop> validation_;
  LogTarget log_target_ = LogTarget::kNone;
  bool is_resumed_ = false;
  bool is_resumed_in_epoch_ = false;
  bool is_last_epoch_whole_ = false;
  bool is_window_torn_ = false;  // the gradients of a window are being changed
  StateDict resumed_random_;
  int64_t last_logged_step_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace levin
