#pragma once

#include <exception>
#include <optional>
#include <vector>

#include "callbacks/callback.h"
#include "trainer/core/data_loader.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/metric_store.h"
#include "trainer/run.h"

namespace levin {

/// One pass of validation, test or prediction over a loader, without gradients and in eval mode; every submodule's mode
/// is put back afterwards. Inside a fit and on its own.
class EvalLoop {
 public:
  /// The references must outlive the loop. stage: not kTrain.
  EvalLoop(Run& run, TrainerControl& control, LightningModule& module, DataLoader& loader, Stage stage);

  /// Returns the metrics of the pass, reduced over all ranks. Errors: what a step throws; ModelError for LibTorch's.
  Metrics run_pass();
  /// Tells the callbacks what ended a pass on its own. Within a fit its loop does so.
  void on_exception(const std::exception& error) noexcept { run_.callbacks.on_exception(context(), error); }
  /// What predict_step returned, batch by batch, on the CPU. Only for kPredict.
  std::vector<Batch> take_predictions() { return std::move(predictions_); }

 private:
  void run_batch(const Batch& batch);
  void call_step(const Batch& batch);
  RunContext context();

  Run& run_;
  TrainerControl& control_;
  LightningModule& module_;
  DataLoader& loader_;
  Stage stage_;
  TrainerState state_;  // a copy: a validation never moves the training's position
  MetricStore store_;
  std::filesystem::path run_dir_;
  std::optional<int64_t> num_batches_;
  std::vector<Batch> predictions_;
};

}  // namespace levin
