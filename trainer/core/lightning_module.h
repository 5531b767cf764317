#pragma once

#include <torch/nn/module.h>

#include <string>

#include "trainer/core/batch.h"
#include "trainer/core/manual_optimization.h"
#include "trainer/core/optimizers.h"
#include "trainer/core/state_dict.h"
#include "trainer/core/step_context.h"
#include "trainer/core/step_output.h"

namespace levin {

/// A model and how it is trained: a torch::nn::Module whose steps the Trainer calls. It never sees the Trainer.
///
/// Batches arrive on the module's device. Steps are called from one thread, validation, test and predict steps without
/// gradients and in eval mode. What a step throws ends the run; LibTorch's errors are reported as ModelError with the
/// step, the batch and its shapes. The order of the hooks stands in callbacks/callback.h.
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
  /// False: training_step makes the optimizer steps itself, by StepContext::manual(). Needed for several optimizers.
  virtual bool automatic_optimization() const { return true; }
  /// What a checkpoint keeps for load_from_checkpoint(): the constructor's arguments, as text, integers and reals.
  virtual StateDict hyperparameters() const { return {}; }

  virtual void setup(Stage /*stage*/) {}
  virtual void teardown(Stage /*stage*/) {}
  /// Once, before the module is placed: makes layers that depend on the data, for example.
  virtual void configure_model() {}

  virtual void on_fit_start(StepContext& /*ctx*/) {}
  virtual void on_fit_end(StepContext& /*ctx*/) {}
  virtual void on_train_start(StepContext& /*ctx*/) {}
  virtual void on_train_end(StepContext& /*ctx*/) {}
  virtual void on_train_epoch_start(StepContext& /*ctx*/) {}
  virtual void on_train_epoch_end(StepContext& /*ctx*/) {}
  /// False: this batch and the rest of the epoch are left out.
  virtual bool on_train_batch_start(const Batch& /*batch*/, StepContext& /*ctx*/) { return true; }
  virtual void on_train_batch_end(const StepOutput& /*output*/, const Batch& /*batch*/, StepContext& /*ctx*/) {}
  virtual void on_before_backward(const at::Tensor& /*loss*/, StepContext& /*ctx*/) {}
  virtual void on_after_backward(StepContext& /*ctx*/) {}
  virtual void on_before_optimizer_step(Optimizer& /*optimizer*/, StepContext& /*ctx*/) {}
  /// Once for each optimizer, before its step. Default: as the options say.
  virtual void configure_gradient_clipping(GradientClipping& clipping, StepContext& /*ctx*/) {
    clipping.clip_as_configured();
  }
  virtual void on_before_zero_grad(StepContext& /*ctx*/) {}

  virtual void on_validation_start(StepContext& /*ctx*/) {}
  virtual void on_validation_epoch_start(StepContext& /*ctx*/) {}
  virtual void on_validation_batch_start(const Batch& /*batch*/, StepContext& /*ctx*/) {}
  virtual void on_validation_batch_end(const Batch& /*batch*/, StepContext& /*ctx*/) {}
  virtual void on_validation_epoch_end(StepContext& /*ctx*/) {}
  virtual void on_validation_end(StepContext& /*ctx*/) {}

  virtual void on_test_start(StepContext& /*ctx*/) {}
  virtual void on_test_epoch_start(StepContext& /*ctx*/) {}
  virtual void on_test_batch_start(const Batch& /*batch*/, StepContext& /*ctx*/) {}
  virtual void on_test_batch_end(const Batch& /*batch*/, StepContext& /*ctx*/) {}
  virtual void on_test_epoch_end(StepContext& /*ctx*/) {}
  virtual void on_test_end(StepContext& /*ctx*/) {}

  virtual void on_predict_start(StepContext& /*ctx*/) {}
  virtual void on_predict_epoch_start(StepContext& /*ctx*/) {}
  virtual void on_predict_batch_start(const Batch& /*batch*/, StepContext& /*ctx*/) {}
  virtual void on_predict_batch_end(const Batch& /*predictions*/, const Batch& /*batch*/, StepContext& /*ctx*/) {}
  virtual void on_predict_epoch_end(StepContext& /*ctx*/) {}
  virtual void on_predict_end(StepContext& /*ctx*/) {}

  /// Around the copy to the device, after the data module's hooks of the same name.
  virtual Batch on_before_batch_transfer(Batch batch, Stage /*stage*/) { return batch; }
  virtual Batch on_after_batch_transfer(Batch batch, Stage /*stage*/) { return batch; }

  /// More for the checkpoint than parameters and buffers; given back by on_load_checkpoint after those are loaded.
  virtual void on_save_checkpoint(StateDict& /*extra*/) {}
  virtual void on_load_checkpoint(const StateDict& /*extra*/) {}
};

}  // namespace levin
