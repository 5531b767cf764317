#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "callbacks/callback.h"
#include "trainer/core/data_loader.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/metric_store.h"
#include "trainer/eval_loop.h"
#include "trainer/fit_result.h"
#include "trainer/run.h"

namespace levin {

/// The training loop, complete: run -> run_epoch -> train_batch -> forward_backward -> training_step.
class FitLoop final : public TrainerControl {
 public:
  /// The references must outlive the loop. val_loader may be nullptr: no validation.
  FitLoop(Run& run, LightningModule& module, Optimizers& optimizers, DataLoader& train_loader, DataLoader* val_loader);

  /// Trains until a limit is reached or a callback asks for the end. Errors: whatever a step, a hook or the loader
  /// throws; LibTorch's errors in a step as ModelError. The callbacks' on_exception has then been called.
  FitStatus run();

  void request_stop(const std::string& reason) override;
  void save_checkpoint(const std::filesystem::path& path, const SaveOptions& options) override;
  void go_back_to(const std::filesystem::path& checkpoint) override;
  std::optional<std::filesystem::path> last_checkpoint() override;
  void skip_optimizer_step() override;
  void set_accumulate_grad_batches(int64_t num_batches) override;
  void log(std::string_view name, double value, const LogOptions& options) override;

 private:
  FitStatus run_epochs();
  bool is_done() const;
  bool is_last_step_done() const;
  void run_epoch();
  void run_batches();
  void train_batch(Batch host_batch);
  StepOutput forward_backward(const Batch& batch);
  bool optimizer_step(const Batch& batch);
  void log_step();
  bool is_validation_due() const;
  void reduce_epoch_metrics();
  RunContext context();

  Run& run_;
  LightningModule& module_;
  Optimizers& optimizers_;
  DataLoader& train_loader_;
  DataLoader* val_loader_;
  Strategy& strategy_;
  Precision& precision_;
  std::filesystem::path run_dir_;
  std::vector<at::Tensor> parameters_;
  MetricStore store_{Stage::kTrain};
  Metrics epoch_row_;  // what the loggers get at the end of the epoch
  std::optional<int64_t> max_epochs_;
  std::optional<int64_t> max_steps_;
  std::optional<int64_t> num_batches_;
  std::optional<EvalLoop> validation_;
  bool is_stop_requested_ = false;
};

}  // namespace levin
