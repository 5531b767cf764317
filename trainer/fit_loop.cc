#include "trainer/fit_loop.h"

#include <fmt/format.h>

#include "trainer/core/error.h"
#include "trainer/run_checkpoint.h"
#include "trainer/step_errors.h"

namespace levin {
namespace {

constexpr int64_t kDefaultMaxEpochs = 1000;

std::optional<int64_t> to_limit(int64_t value) { return value < 0 ? std::nullopt : std::optional(value); }

void check_loss(const StepOutput& output, const TrainerState& state) {
  const at::Tensor& loss = output.loss();
  const char* problem = nullptr;
  if (!loss.defined() || loss.numel() != 1) {
    problem = "must return a loss with one element";
  } else if (!loss.is_floating_point()) {
    problem = "must return a loss of floating type";
  } else if (!loss.requires_grad()) {
    problem = "returned a loss that does not depend on any parameter that requires a gradient";
  } else if (output.is_weighted() && !(output.weight() > 0.0)) {
    problem = "must return a weight > 0 with a loss sum";
  }
  if (problem == nullptr) return;
  throw ModelError(
      fmt::format("[training_step] epoch {}, batch {}: training_step {}, got {} with weight {}. Return "
                  "StepOutput::skip() to leave a batch out.",
                  state.epoch, state.batch_idx, problem, describe_tensor(loss), output.weight()));
}

}  // namespace

FitLoop::FitLoop(Run& run, LightningModule& module, Optimizers& optimizers, DataLoader& train_loader,
                 DataLoader* val_loader)
    : run_(run),
      module_(module),
      optimizers_(optimizers),
      train_loader_(train_loader),
      val_loader_(val_loader),
      strategy_(*run.parts.strategy),
      precision_(*run.parts.precision),
      run_dir_(run.folder_path()),
      parameters_(module.parameters()),
      max_epochs_(to_limit(run.options.max_epochs)),
      max_steps_(to_limit(run.options.max_steps)),
      num_batches_(run.options.limit_train_batches.resolve(train_loader.num_batches(), "limit_train_batches")) {
  if (!max_epochs_ && !max_steps_) max_epochs_ = kDefaultMaxEpochs;
  if (val_loader_ != nullptr && !run.options.limit_val_batches.is_zero()) {
    validation_.emplace(run, *this, module, *val_loader_, Stage::kValidate);
  }
}

RunContext FitLoop::context() {
  return {.stage = Stage::kTrain,
          .is_sanity_checking = false,
          .is_fitting = true,
          .has_validation = validation_.has_value(),
          .state = run_.state,
          .metrics = run_.metrics,
          .store = store_,
          .module = module_,
          .optimizers = &optimizers_,
          .communicator = strategy_.communicator(),
          .control = *this,
          .loggers = run_.parts.loggers,
          .options = run_.options,
          .run_dir = run_dir_,
          .num_batches = num_batches_,
          .max_epochs = max_epochs_,
          .max_steps = max_steps_};
}

void FitLoop::request_stop(const std::string& /*reason*/) { is_stop_requested_ = true; }

void FitLoop::save_checkpoint(const std::filesystem::path& path, const SaveOptions& options) {
  save_run_checkpoint(path, run_, module_);
  for (const auto& older : options.replaces) std::filesystem::remove_all(older);
}

void FitLoop::go_back_to(const std::filesystem::path& /*checkpoint*/) { throw InternalError("[FitLoop] not yet."); }
std::optional<std::filesystem::path> FitLoop::last_checkpoint() { throw InternalError("[FitLoop] not yet."); }
void FitLoop::skip_optimizer_step() { throw InternalError("[FitLoop] not yet."); }
void FitLoop::set_accumulate_grad_batches(int64_t /*num_batches*/) { throw InternalError("[FitLoop] not yet."); }

void FitLoop::log(std::string_view name, double value, const LogOptions& /*options*/) {
  epoch_row_.set(name, value);
  run_.metrics.set(name, value);
}

FitStatus FitLoop::run() {
  try {
    return run_epochs();
  } catch (const std::exception& error) {
    run_.callbacks.on_exception(context(), error);
    throw;
  }
}

FitStatus FitLoop::run_epochs() {
  // Gradients of the user, or of a fit that failed, are not part of the first step.
  for (size_t i = 0; i < optimizers_.size(); ++i) optimizers_[i].zero_grad();
  run_.callbacks.call(&Callback::on_fit_start, context());
  run_.callbacks.call(&Callback::on_train_start, context());
  module_.on_train_start();
  while (!is_done()) run_epoch();
  run_.callbacks.call(&Callback::on_train_end, context());
  module_.on_train_end();
  run_.callbacks.call(&Callback::on_fit_end, context());
  run_.flush_loggers();
  return is_stop_requested_ ? FitStatus::kStoppedEarly : FitStatus::kFinished;
}

bool FitLoop::is_last_step_done() const { return max_steps_ && run_.state.global_step >= *max_steps_; }

bool FitLoop::is_done() const {
  return is_stop_requested_ || is_last_step_done() || (max_epochs_ && run_.state.epoch >= *max_epochs_) ||
         run_.options.limit_train_batches.is_zero();
}

void FitLoop::run_epoch() {
  run_.state.batch_idx = 0;
  store_.reset_epoch();
  epoch_row_.clear();
  train_loader_.start_epoch(run_.state.epoch);
  run_.callbacks.call(&Callback::on_train_epoch_start, context());
  module_.on_train_epoch_start();
  run_batches();
  if (is_validation_due()) validation_->run_pass();
  reduce_epoch_metrics();
  run_.callbacks.call(&Callback::on_train_epoch_end, context());
  module_.on_train_epoch_end();
  run_.log_row(epoch_row_);
  run_.flush_loggers();
  ++run_.state.epoch;
}

void FitLoop::run_batches() {
  while (!is_stop_requested_ && !is_last_step_done() && (!num_batches_ || run_.state.batch_idx < *num_batches_)) {
    std::optional<Batch> batch = train_loader_.next();
    if (!batch) break;
    train_batch(*std::move(batch));
    ++run_.state.batch_idx;
  }
  if (run_.state.batch_idx == 0) throw DataError("[Trainer] the training loader delivered no batch in this epoch.");
}

void FitLoop::train_batch(Batch host_batch) {
  const Batch batch = precision_.convert_input(std::move(host_batch).to(strategy_.device()));
  const RunContext ctx = context();
  run_.callbacks.call(&Callback::on_train_batch_start, ctx, batch);
  const StepOutput output = forward_backward(batch);
  run_.state.num_samples += batch.batch_size();
  const bool is_step_done = !output.is_skip() && optimizer_step(batch);
  store_.end_step();
  if (is_step_done) {
    ++run_.state.global_step;
    log_step();
  }
  run_.callbacks.call(&Callback::on_train_batch_end, ctx, output, batch);
  if (run_.folder) run_.folder->keep();
}

StepOutput FitLoop::forward_backward(const Batch& batch) {
  StepContext ctx(Stage::kTrain, run_.state, batch, store_);
  try {
    StepOutput output = StepOutput::skip();
    {
      const auto forward_scope = precision_.forward_scope();
      output = module_.training_step(batch, ctx);
    }
    if (output.is_skip()) return output;
    check_loss(output, run_.state);
    const at::Tensor mean = output.is_weighted() ? output.loss().div(output.weight()) : output.loss();
    strategy_.backward(precision_.scale_loss(mean), GradSync::kNow);
    return output;
  } catch (const c10::Error& error) {
    rethrow_step_error(error, "training_step", run_.state, batch);
  }
}

bool FitLoop::optimizer_step(const Batch& batch) try {
  const bool is_finite = precision_.unscale_gradients(parameters_, strategy_.communicator());
  if (is_finite) {
    run_.callbacks.call(&Callback::on_before_optimizer_step, context());
    for (size_t i = 0; i < optimizers_.size(); ++i) strategy_.optimizer_step(optimizers_[i]);
  }
  precision_.update();
  for (size_t i = 0; i < optimizers_.size(); ++i) optimizers_[i].zero_grad();
  return is_finite;
} catch (const c10::Error& error) {
  rethrow_step_error(error, "optimizer_step", run_.state, batch);
}

void FitLoop::log_step() {
  const int64_t interval = run_.options.log_every_n_steps;
  if (interval == 0 || run_.state.global_step % interval != 0) return;
  run_.metrics.set_all(store_.latest(/*only_prog_bar=*/false));
  run_.log_row(store_.step_metrics());
}

bool FitLoop::is_validation_due() const {
  const bool is_epoch_whole =
      is_stop_requested_ || !is_last_step_done() || !num_batches_ || run_.state.batch_idx >= *num_batches_;
  return validation_ && is_epoch_whole && (run_.state.epoch + 1) % run_.options.check_val_every_n_epoch == 0;
}

void FitLoop::reduce_epoch_metrics() {
  run_.metrics.set_all(store_.latest(/*only_prog_bar=*/false));
  const Metrics metrics = store_.epoch_metrics(strategy_.communicator());
  run_.metrics.set_all(metrics);
  for (const auto& [name, value] : metrics) {
    if (store_.goes_to_logger(name)) epoch_row_.set(name, value);
  }
}

}  // namespace levin
