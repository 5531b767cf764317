#pragma once

#include <torch/nn/module.h>

#include "trainer/core/batch.h"
#include "trainer/core/optimizers.h"
#include "trainer/core/step_context.h"
#include "trainer/core/step_output.h"

namespace levin {

/// A model and how it is trained: a torch::nn::Module whose steps the Trainer calls. It never sees the Trainer.
///
/// Batches arrive on the module's device. Steps are called from one thread, validation, test and predict steps without
/// gradients and in eval mode. What a step throws ends the run; LibTorch's errors are reported as ModelError with the
/// step, the batch and its shapes.
class LightningModule : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;

  /// The loss of one micro-batch. See StepOutput for what may be returned.
  virtual StepOutput training_step(const Batch& batch, StepContext& ctx) = 0;
  /// Logs what validation measures. Default: ConfigError.
  virtual void validation_step(const Batch& batch, StepContext& ctx);
  /// Logs what the test measures. Default: ConfigError.
  virtual void test_step(const Batch& batch, StepContext& ctx);
  /// Predictions for one batch; each leaf has as many rows as the batch has samples. Default: ConfigError.
  virtual Batch predict_step(const Batch& batch, StepContext& ctx);

  /// The optimizer, called after the strategy has placed the parameters. Default: ConfigError, so that a module either
  /// overrides it or is given an optimizer in YAML or in TrainerParts (which wins where both are there).
  virtual Optimizers configure_optimizers();

  virtual void on_train_start() {}
  virtual void on_train_end() {}
  virtual void on_train_epoch_start() {}
  virtual void on_train_epoch_end() {}
};

}  // namespace levin
