#pragma once

#include <exception>
#include <string>

#include "callbacks/run_context.h"
#include "trainer/core/batch.h"
#include "trainer/core/state_dict.h"
#include "trainer/core/step_output.h"

namespace levin {

/// Observes or steers a run.
///
/// The order of all hooks. `cb` stands for each callback in list order (those that run last, at the end), `module` for
/// the LightningModule, `data` for the LightningDataModule; the arrow is the order between them. Where a hook has no
/// names behind it, cb -> module.
///
///   fit:
///     data.prepare_data, setup(data -> cb -> module), module.configure_model
///     checkpoint, if the fit is resumed: weights, then module.on_load_checkpoint, data.load_state, cb.load_state
///     module.configure_optimizers, cb.on_after_configure_optimizers
///     the state of optimizers and schedules, if the fit is resumed
///     on_fit_start
///     if there is a sanity check: cb.on_sanity_check_start, a validation (below), cb.on_sanity_check_end
///     on_train_start
///     for each epoch:
///       on_train_epoch_start
///       for each micro-batch:
///         on_before_batch_transfer, copy to the device, on_after_batch_transfer (data -> module)
///         on_train_batch_start
///         module.training_step
///         on_before_backward, backward, on_after_backward
///         if the accumulation window is full (or the epoch ends), and the gradients are finite:
///           on_before_optimizer_step, module.configure_gradient_clipping, optimizer step,
///           on_before_zero_grad, zero_grad, schedules
///         on_train_batch_end; the row of the step goes to the loggers
///         if validation is due: a validation
///       on_train_epoch_end (callbacks that run last excepted)
///       schedules that count epochs; the row of the epoch goes to the loggers
///       on_train_epoch_end of the callbacks that run last
///     on_train_end
///     on_fit_end
///     teardown(data -> cb -> module)
///
///   a validation (test alike; prediction too, with predict_step):
///     on_validation_start, on_validation_epoch_start
///     for each batch:
///       on_before_batch_transfer, copy to the device, on_after_batch_transfer (data -> module)
///       on_validation_batch_start, module.validation_step, on_validation_batch_end
///     on_validation_epoch_end; metrics are reduced and logged
///     on_validation_end
///
///   validate, test, predict on their own: data.prepare_data, setup, configure_model, the pass, teardown
///
/// In manual optimization the hooks from on_before_backward to on_before_zero_grad are called by the calls that
/// training_step makes. Where anything throws, each callback's and the data module's on_exception is called instead of
/// the remaining hooks, then teardown, and the error is thrown on.
class Callback {
 public:
  virtual ~Callback() = default;

  virtual void setup(const RunContext& /*run*/) {}
  virtual void teardown(const RunContext& /*run*/) {}

  /// May change run.optimizers, for example move parameters into groups of their own; each group needs its entry in
  /// Optimizers::base_learning_rates. A fit that is resumed does the same before the saved state is loaded, which must
  /// fit the groups: let them follow from options and module alone. The loop has not begun, so `control` refuses all.
  virtual void on_after_configure_optimizers(const RunContext& /*run*/) {}
  virtual void on_fit_start(const RunContext& /*run*/) {}
  virtual void on_fit_end(const RunContext& /*run*/) {}
  virtual void on_sanity_check_start(const RunContext& /*run*/) {}
  virtual void on_sanity_check_end(const RunContext& /*run*/) {}
  virtual void on_train_start(const RunContext& /*run*/) {}
  virtual void on_train_end(const RunContext& /*run*/) {}
  virtual void on_train_epoch_start(const RunContext& /*run*/) {}
  virtual void on_train_epoch_end(const RunContext& /*run*/) {}
  virtual void on_train_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) {}
  /// `output` is what training_step returned: the loss is neither divided nor scaled.
  virtual void on_train_batch_end(const RunContext& /*run*/, const StepOutput& /*output*/, const Batch& /*batch*/) {}

  /// `loss` is what backward starts from: divided by the window's weight, and scaled where the precision does so.
  virtual void on_before_backward(const RunContext& /*run*/, const at::Tensor& /*loss*/) {}
  virtual void on_after_backward(const RunContext& /*run*/) {}
  /// Gradients are complete, equal on all ranks, unscaled and finite, and not clipped yet.
  virtual void on_before_optimizer_step(const RunContext& /*run*/) {}
  virtual void on_before_zero_grad(const RunContext& /*run*/) {}

  virtual void on_validation_start(const RunContext& /*run*/) {}
  virtual void on_validation_epoch_start(const RunContext& /*run*/) {}
  virtual void on_validation_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) {}
  virtual void on_validation_batch_end(const RunContext& /*run*/, const Batch& /*batch*/) {}
  virtual void on_validation_epoch_end(const RunContext& /*run*/) {}
  virtual void on_validation_end(const RunContext& /*run*/) {}

  virtual void on_test_start(const RunContext& /*run*/) {}
  virtual void on_test_epoch_start(const RunContext& /*run*/) {}
  virtual void on_test_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) {}
  virtual void on_test_batch_end(const RunContext& /*run*/, const Batch& /*batch*/) {}
  virtual void on_test_epoch_end(const RunContext& /*run*/) {}
  virtual void on_test_end(const RunContext& /*run*/) {}

  virtual void on_predict_start(const RunContext& /*run*/) {}
  virtual void on_predict_epoch_start(const RunContext& /*run*/) {}
  virtual void on_predict_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) {}
  virtual void on_predict_batch_end(const RunContext& /*run*/, const Batch& /*predictions*/, const Batch& /*batch*/) {}
  virtual void on_predict_epoch_end(const RunContext& /*run*/) {}
  virtual void on_predict_end(const RunContext& /*run*/) {}

  /// Called once, with what ended the run. Does not throw.
  virtual void on_exception(const RunContext& /*run*/, const std::exception& /*error*/) noexcept {}

  /// May change what a checkpoint stores as the model, for example put averaged weights there. The entries may be
  /// aliases of the live tensors: replace them, do not write into them.
  virtual void on_save_checkpoint(const RunContext& /*run*/, StateDict& /*model*/) {}

  /// True for callbacks that must see what all others have done.
  virtual bool runs_last() const { return false; }
  /// True if TrainerControl::go_back_to() puts this callback's state back too, as that of averaged weights.
  virtual bool goes_back() const { return true; }
  /// Under which name a checkpoint keeps this callback's state. Two callbacks of a run with state need different ones.
  virtual std::string state_key() const { return ""; }
  /// What a checkpoint keeps of this callback. Tensors may be aliases of live ones.
  virtual StateDict state() const { return {}; }
  /// Called before on_fit_start of a fit that is resumed. Errors: CheckpointError if it does not fit.
  virtual void load_state(const StateDict& /*state*/) {}
};

}  // namespace levin
