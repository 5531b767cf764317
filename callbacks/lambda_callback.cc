#include "callbacks/lambda_callback.h"

#include <utility>

namespace levin {
namespace {

template <class... Parameters, class... Arguments>
void call(const std::function<void(Parameters...)>& hook, Arguments&... arguments) {
  if (hook) hook(arguments...);
}

}  // namespace

LambdaCallback::LambdaCallback(Hooks hooks) : hooks_(std::move(hooks)) {}

void LambdaCallback::setup(const RunContext& run) { call(hooks_.setup, run); }
void LambdaCallback::teardown(const RunContext& run) { call(hooks_.teardown, run); }
void LambdaCallback::on_after_configure_optimizers(const RunContext& run) {
  call(hooks_.on_after_configure_optimizers, run);
}
void LambdaCallback::on_fit_start(const RunContext& run) { call(hooks_.on_fit_start, run); }
void LambdaCallback::on_fit_end(const RunContext& run) { call(hooks_.on_fit_end, run); }
void LambdaCallback::on_sanity_check_start(const RunContext& run) { call(hooks_.on_sanity_check_start, run); }
void LambdaCallback::on_sanity_check_end(const RunContext& run) { call(hooks_.on_sanity_check_end, run); }
void LambdaCallback::on_train_start(const RunContext& run) { call(hooks_.on_train_start, run); }
void LambdaCallback::on_train_end(const RunContext& run) { call(hooks_.on_train_end, run); }
void LambdaCallback::on_train_epoch_start(const RunContext& run) { call(hooks_.on_train_epoch_start, run); }
void LambdaCallback::on_train_epoch_end(const RunContext& run) { call(hooks_.on_train_epoch_end, run); }
void LambdaCallback::on_train_batch_start(const RunContext& run, const Batch& batch) {
  call(hooks_.on_train_batch_start, run, batch);
}
void LambdaCallback::on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) {
  call(hooks_.on_train_batch_end, run, output, batch);
}

void LambdaCallback::on_before_backward(const RunContext& run, const at::Tensor& loss) {
  call(hooks_.on_before_backward, run, loss);
}
void LambdaCallback::on_after_backward(const RunContext& run) { call(hooks_.on_after_backward, run); }
void LambdaCallback::on_before_optimizer_step(const RunContext& run) { call(hooks_.on_before_optimizer_step, run); }
void LambdaCallback::on_before_zero_grad(const RunContext& run) { call(hooks_.on_before_zero_grad, run); }

void LambdaCallback::on_validation_start(const RunContext& run) { call(hooks_.on_validation_start, run); }
void LambdaCallback::on_validation_epoch_start(const RunContext& run) { call(hooks_.on_validation_epoch_start, run); }
void LambdaCallback::on_validation_batch_start(const RunContext& run, const Batch& batch) {
  call(hooks_.on_validation_batch_start, run, batch);
}
void LambdaCallback::on_validation_batch_end(const RunContext& run, const Batch& batch) {
  call(hooks_.on_validation_batch_end, run, batch);
}
void LambdaCallback::on_validation_epoch_end(const RunContext& run) { call(hooks_.on_validation_epoch_end, run); }
void LambdaCallback::on_validation_end(const RunContext& run) { call(hooks_.on_validation_end, run); }

void LambdaCallback::on_test_start(const RunContext& run) { call(hooks_.on_test_start, run); }
void LambdaCallback::on_test_epoch_start(const RunContext& run) { call(hooks_.on_test_epoch_start, run); }
void LambdaCallback::on_test_batch_start(const RunContext& run, const Batch& batch) {
  call(hooks_.on_test_batch_start, run, batch);
}
void LambdaCallback::on_test_batch_end(const RunContext& run, const Batch& batch) {
  call(hooks_.on_test_batch_end, run, batch);
}
void LambdaCallback::on_test_epoch_end(const RunContext& run) { call(hooks_.on_test_epoch_end, run); }
void LambdaCallback::on_test_end(const RunContext& run) { call(hooks_.on_test_end, run); }

void LambdaCallback::on_predict_start(const RunContext& run) { call(hooks_.on_predict_start, run); }
void LambdaCallback::on_predict_epoch_start(const RunContext& run) { call(hooks_.on_predict_epoch_start, run); }
void LambdaCallback::on_predict_batch_start(const RunContext& run, const Batch& batch) {
  call(hooks_.on_predict_batch_start, run, batch);
}
void LambdaCallback::on_predict_batch_end(const RunContext& run, const Batch& predictions, const Batch& batch) {
  call(hooks_.on_predict_batch_end, run, predictions, batch);
}
void LambdaCallback::on_predict_epoch_end(const RunContext& run) { call(hooks_.on_predict_epoch_end, run); }
void LambdaCallback::on_predict_end(const RunContext& run) { call(hooks_.on_predict_end, run); }

void LambdaCallback::on_exception(const RunContext& run, const std::exception& error) noexcept {
  try {
    call(hooks_.on_exception, run, error);
  } catch (...) {  // an error has ended the run already
  }
}
void LambdaCallback::on_save_checkpoint(const RunContext& run, StateDict& model) {
  call(hooks_.on_save_checkpoint, run, model);
}

}  // namespace levin
