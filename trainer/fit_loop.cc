#include "trainer/fit_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "trainer/core/error.h"
#include "trainer/core/random.h"
#include "trainer/fit_checkpoint.h"
#include "trainer/signal_watch.h"
#include "trainer/transfer.h"

namespace levin {
namespace {

/// Ends the loop from wherever it is.
struct Interrupt {
  int signal;
};

}  // namespace

FitStatus FitLoop::run() {
  const SignalWatch signals(run_.options.handle_signals);
  try {
    start_training();
    // An epoch that is left is also ended if no batch is left to do in it.
    if (is_resumed_in_epoch_ && !position_.is_cut_epoch_closed && !is_past_last_epoch()) run_epoch();
    while (!is_done()) run_epoch();
    end_training();
    return position_.is_stop_requested ? FitStatus::kStoppedEarly : FitStatus::kFinished;
  } catch (const Interrupt& interrupt) {
    return end_by_signal(interrupt.signal);
  } catch (const std::exception& error) {
    end_by_error(error);
    throw;
  }
}

void FitLoop::start_training() {
  // Gradients of the user, or of a fit that failed, are not part of the first step.
  if (position_.window.is_empty()) driver_.zero_grad();
  if (!is_resumed_) driver_.prepare(global_batch_size(), total_steps(), max_epochs_);
  StepContext ctx = hook_context(LogTarget::kNone);
  hooks_.call(&Callback::on_fit_start, &LightningModule::on_fit_start, context_, ctx);
  check_sanity();
  hooks_.call(&Callback::on_train_start, &LightningModule::on_train_start, context_, ctx);
  start_ = std::chrono::steady_clock::now();
  validation_schedule_.on_validated();
  last_logged_step_ = run_.state.global_step;
  if (is_resumed_) load_random_state(resumed_random_);
}

void FitLoop::end_training() {
  StepContext ctx = hook_context(LogTarget::kNone);
  position_.is_epoch_over = is_last_epoch_whole_;
  run_.state.epoch -= is_last_epoch_whole_ ? 1 : 0;  // a checkpoint of the end stands at the end of the last epoch
  hooks_.call(&Callback::on_train_end, &LightningModule::on_train_end, context_, ctx);
  flush_saves();
  run_.state.epoch += is_last_epoch_whole_ ? 1 : 0;
  position_.is_epoch_over = false;
  hooks_.call(&Callback::on_fit_end, &LightningModule::on_fit_end, context_, ctx);
  writer_.wait();
  run_.flush_loggers();
}

void FitLoop::end_by_error(const std::exception& error) {
  // What a step that failed has left in the gradients must not be part of one of a resumed fit.
  if (is_window_torn_) {
    driver_.zero_grad();
    position_.window.begin(1);
  }
  run_.tell_error(context_, error);
  try {
    flush_saves();
    writer_.wait();
    run_.flush_loggers();
  } catch (const std::exception& second) {  // the first error is the one to report
    TORCH_WARN("While the run ended because of an error: ", second.what());
  }
}

FitStatus FitLoop::end_by_signal(int signal) {
  const bool is_interrupt = signal == SIGINT;
  run_.tell_error(context_,
                  InterruptedError(fmt::format("[Trainer] ended by {}.", is_interrupt ? "SIGINT" : "SIGTERM")));
  const bool has_something = run_.folder && (run_.state.global_step > 0 || run_.folder->is_kept());
  if (run_.options.enable_checkpointing && has_something) {
    run_.folder->keep();
    save_checkpoint(run_dir_ / "checkpoints" / kInterruptedCheckpoint, {});
  }
  flush_saves();
  writer_.wait();
  run_.flush_loggers();
  return is_interrupt ? FitStatus::kInterrupted : FitStatus::kTerminated;
}

void FitLoop::check_signals() const {
  if (const int signal = SignalWatch::received(); signal != 0) throw Interrupt{signal};
}

void FitLoop::check_sanity() {
  const int64_t num_batches = run_.options.num_sanity_val_steps;
  if (!validation_ || num_batches == 0 || is_resumed_in_epoch_ || is_done()) return;
  const RandomStateScope random;
  hooks_.call_callbacks(&Callback::on_sanity_check_start, context_);
  validation_->run_sanity_check(num_batches);
  hooks_.call_callbacks(&Callback::on_sanity_check_end, context_);
}

bool FitLoop::is_last_step_done() const { return max_steps_ && run_.state.global_step >= *max_steps_; }

double FitLoop::seconds() const {
  return position_.seconds + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool FitLoop::may_stop() const {
  if (!position_.is_stop_requested && !(max_seconds_ && seconds() >= *max_seconds_)) return false;
  return run_.state.epoch >= run_.options.min_epochs && run_.state.global_step >= run_.options.min_steps;
}

bool FitLoop::is_done() const { return may_stop() || is_last_step_done() || is_past_last_epoch(); }

bool FitLoop::is_past_last_epoch() const {
  return (max_epochs_ && run_.state.epoch >= *max_epochs_) || run_.options.limit_train_batches.is_zero();
}

void FitLoop::run_epoch() {
  start_epoch();
  bool is_data_over = false;
  for (;;) {
    const bool is_over =
        is_data_over || position_.is_epoch_cut || (num_batches_ && run_.state.batch_idx >= *num_batches_);
    if (is_validation_due(is_over)) validate();
    if (is_over || may_stop_in_epoch() || is_last_step_done()) {
      end_epoch(is_over);
      return;
    }
    std::optional<Batch> batch = next_batch();
    if (batch) {
      train_batch(*std::move(batch));
    } else {
      is_data_over = true;
      close_window();
    }
  }
}

// Within an epoch, the epoch that runs counts as processed.
bool FitLoop::may_stop_in_epoch() const {
  if (!position_.is_stop_requested && !(max_seconds_ && seconds() >= *max_seconds_)) return false;
  return run_.state.epoch + 1 > run_.options.min_epochs && run_.state.global_step >= run_.options.min_steps;
}

std::optional<Batch> FitLoop::next_batch() {
  const ProfileScope profile(run_.profiler, Section::kDataWait);
  return data_.train().next();
}

void FitLoop::start_epoch() {
  position_.is_cut_epoch_closed = false;
  if (std::exchange(is_resumed_in_epoch_, false)) return;
  const int64_t reload = run_.options.reload_dataloaders_every_n_epochs;
  if (reload > 0 && run_.state.epoch > 0 && run_.state.epoch % reload == 0) reload_data();
  run_.state.batch_idx = 0;
  position_.is_epoch_cut = false;
  store_.reset_epoch();
  epoch_store_.reset_epoch();
  data_.train().start_epoch(run_.state.epoch);
  update_num_batches();
  StepContext ctx = hook_context(LogTarget::kEpoch);
  hooks_.call(&Callback::on_train_epoch_start, &LightningModule::on_train_epoch_start, context_, ctx);
}

int64_t FitLoop::window_size() const {
  const int64_t size = position_.accumulate_grad_batches;
  if (!num_batches_ || run_.options.accumulate_across_epochs) return size;
  return std::min(size, std::max<int64_t>(1, *num_batches_ - run_.state.batch_idx));
}

void FitLoop::train_batch(Batch host_batch) {
  const Batch batch = transfer_batch(run_, module_, std::move(host_batch), Stage::kTrain);
  LossWindow& window = position_.window;
  if (window.is_empty()) window.begin(window_size());
  const bool is_window_end = window.count() + 1 >= window.size();
  context_.is_logging_step = is_window_end && is_row_due(run_.state.global_step + 1);
  log_target_ = LogTarget::kStep;
  StepContext ctx(Stage::kTrain, run_.state, batch, store_);
  if (!hooks_.call(&Callback::on_train_batch_start, &LightningModule::on_train_batch_start, context_, ctx, batch)) {
    position_.is_epoch_cut = true;
    close_window();
    return;
  }
  is_window_torn_ = true;
  const StepOutput output = step_.forward_backward(batch);
  run_.state.num_samples += batch.batch_size();
  window.end_micro_batch();
  if (!module_.automatic_optimization()) window.begin(1);
  if (window.is_full()) step_window(batch);
  is_window_torn_ = false;
  const bool is_row = is_row_due(run_.state.global_step);
  context_.is_logging_step = is_row;
  if (is_row) run_.metrics.set_all(store_.latest(/*only_prog_bar=*/false));
  hooks_.call(&Callback::on_train_batch_end, &LightningModule::on_train_batch_end, context_, ctx, output, batch);
  store_.end_step();
  if (is_row) log_step();
  end_batch();
}

// A row is due once for each interval that the step counter passes.
bool FitLoop::is_row_due(int64_t global_step) const {
  const int64_t interval = run_.options.log_every_n_steps;
  return interval > 0 && global_step / interval > last_logged_step_ / interval;
}

void FitLoop::step_window(const Batch& batch) {
  const bool is_done = step_.optimizer_step(batch);
  position_.window.begin(1);
  if (!is_done) return;
  ++run_.state.global_step;
  driver_.on_step(0, run_.metrics);
}

void FitLoop::close_window() {
  if (position_.window.is_empty() || run_.options.accumulate_across_epochs) return;
  is_window_torn_ = true;
  step_window(Batch());
  is_window_torn_ = false;
}

void FitLoop::log_step() {
  const ProfileScope profile(run_.profiler, Section::kLogging);
  last_logged_step_ = run_.state.global_step;
  run_.metrics.set_all(store_.latest(/*only_prog_bar=*/false));
  run_.log_row(store_.step_metrics());
}

void FitLoop::end_batch() {
  ++run_.state.batch_idx;
  ++position_.total_batches;
  if (run_.folder && !run_.folder->is_kept()) run_.folder->keep();
  writer_.poll();
  if (pending_go_back_) go_back();
  if (!pending_saves_.empty() && is_resumable_point()) flush_saves();
  if (run_.profiler != nullptr) run_.profiler->end_batch();
  if (is_resumable_point()) check_signals();
}

// An optimizer that evaluates its window again cannot go on in the middle of one.
bool FitLoop::is_resumable_point() const { return position_.window.is_empty() || !driver_.needs_closure(); }

bool FitLoop::is_validation_due(bool is_epoch_over) const {
  if (!validation_ || position_.validated_batch == position_.total_batches || run_.state.batch_idx == 0) return false;
  const int64_t epoch = run_.state.epoch;
  return validation_schedule_.is_due(epoch, run_.state.batch_idx, position_.total_batches, is_epoch_over) ||
         (may_stop_in_epoch() && validation_schedule_.is_validation_epoch(epoch));
}

void FitLoop::validate() {
  {
    const ProfileScope profile(run_.profiler, Section::kValidation);
    const RandomStateScope random;
    validation_->run_pass();
  }
  position_.validated_batch = position_.total_batches;
  validation_schedule_.on_validated();
  flush_saves();
  run_.flush_loggers();
  check_signals();
}

void FitLoop::end_epoch(bool is_whole) {
  if (run_.state.batch_idx == 0 && !position_.is_epoch_cut) {
    throw DataError("[Trainer] the training loader delivered no batch in this epoch.");
  }
  data_.train().stop();
  epoch_row_.clear();
  reduce_into_row(store_);
  StepContext ctx = hook_context(LogTarget::kEpoch);
  run_.callbacks.call_if(/*runs_last=*/false, &Callback::on_train_epoch_end, context_);
  module_.on_train_epoch_end(ctx);
  reduce_into_row(epoch_store_);
  if (is_whole) driver_.on_epoch(run_.metrics);
  run_.log_row(epoch_row_);
  position_.is_epoch_over = is_whole;
  position_.is_cut_epoch_closed = !is_whole;
  log_target_ = LogTarget::kNone;
  run_.callbacks.call_if(/*runs_last=*/true, &Callback::on_train_epoch_end, context_);
  flush_saves();
  run_.flush_loggers();
  position_.is_epoch_over = false;
  is_last_epoch_whole_ = is_whole;
  store_.reset_epoch();
  epoch_store_.reset_epoch();
  if (is_whole) ++run_.state.epoch;
  if (on_epoch_done_) on_epoch_done_();
  check_signals_after_epoch();
}

void FitLoop::check_signals_after_epoch() {
  if (SignalWatch::received() == 0) return;
  // The position is the start of the next epoch.
  run_.state.batch_idx = 0;
  check_signals();
}

void FitLoop::reduce_into_row(MetricStore& store) {
  run_.metrics.set_all(store.latest(/*only_prog_bar=*/false));
  const Metrics metrics = store.epoch_metrics(strategy_.communicator());
  run_.metrics.set_all(metrics);
  for (const auto& [name, value] : metrics) {
    if (store.goes_to_logger(name)) epoch_row_.set(name, value);
  }
}

}  // namespace levin
