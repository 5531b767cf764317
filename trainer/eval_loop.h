#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <vector>

#include "callbacks/callback.h"
#include "trainer/core/data_loader.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/metric_store.h"
#include "trainer/run.h"

namespace levin {

/// What a pass within a fit knows of the fit. The default: a pass on its own.
struct EvalSurroundings {
  bool is_fitting = false;
  Optimizers* optimizers = nullptr;
  /// Of kPredict: false if nobody calls take_predictions(), so that they need not be kept.
  bool keeps_predictions = true;
  /// Called between two batches; throws to end the pass.
  std::function<void()> between_batches = nullptr;
};

/// One pass of validation, test or prediction over a loader, without gradients and in eval mode; every submodule's mode
/// is put back afterwards. Inside a fit and on its own.
class EvalLoop final : public TrainerControl {
 public:
  /// The references must outlive the loop. stage: not kTrain. control: what callbacks ask for goes there, values that
  /// they log excepted.
  EvalLoop(Run& run, TrainerControl& control, LightningModule& module, DataLoader& loader, Stage stage,
           EvalSurroundings surroundings = {});

  /// Returns the metrics of the pass, reduced over all ranks. Errors: what a step throws; ModelError for LibTorch's.
  Metrics run_pass();
  /// A pass over the first max_batches batches (-1: all) before the training. Its metrics are dropped.
  void run_sanity_check(int64_t max_batches);
  /// Tells the callbacks what ended a pass on its own. Within a fit its loop does so.
  void on_exception(const std::exception& error) noexcept { run_.tell_error(context(), error); }
  /// What predict_step returned, batch by batch, on the CPU. Only for kPredict.
  std::vector<Batch> take_predictions() { return std::move(predictions_); }

  void request_stop(const std::string& reason) override { control_.request_stop(reason); }
  void save_checkpoint(const std::filesystem::path& path, const SaveOptions& options) override {
    control_.save_checkpoint(path, options);
  }
  void go_back_to(const std::filesystem::path& checkpoint) override { control_.go_back_to(checkpoint); }
  std::optional<std::filesystem::path> last_checkpoint() override { return control_.last_checkpoint(); }
  bool claim(const std::filesystem::path& path, const std::string& owner) override {
    return control_.claim(path, owner);
  }
  void skip_optimizer_step() override { control_.skip_optimizer_step(); }
  void set_accumulate_grad_batches(int64_t num_batches) override { control_.set_accumulate_grad_batches(num_batches); }
  void log(std::string_view name, double value, const LogOptions& options) override;

 private:
  void run_batches(std::optional<int64_t> max_batches);
  void run_batch(const Batch& batch);
  void call_step(const Batch& batch);
  Metrics reduce_metrics();
  RunContext context();
  StepContext hook_context() { return {stage_, state_, &store_}; }

  Run& run_;
  TrainerControl& control_;
  LightningModule& module_;
  DataLoader& loader_;
  Stage stage_;
  EvalSurroundings surroundings_;
  TrainerState state_;  // a copy: a validation never moves the training's position
  MetricStore store_;
  std::filesystem::path run_dir_;
  std::optional<int64_t> num_batches_;
  Batch prediction_;  // of the batch that runs
  std::vector<Batch> predictions_;
  // The on_step values of the pass. Rows of a pass that a signal or an error ends are never logged, so that a fit that
  // is resumed before it logs each once.
  std::vector<BatchRow> batch_rows_;
  bool is_sanity_checking_ = false;
  bool is_reduced_ = false;  // nothing can be logged any more
};

}  // namespace levin
