// What callbacks ask of the loop, and checkpoints.

#include <fmt/format.h>

#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/random.h"
#include "trainer/fit_checkpoint.h"
#include "trainer/fit_loop.h"

namespace levin {

int64_t FitLoop::micro_batch_limit() const {
  const MicroBatches& parts = step_.micro_batches();
  return parts.is_automatic() ? parts.limit() : 0;
}

void FitLoop::request_stop(const std::string& /*reason*/) { position_.is_stop_requested = true; }

void FitLoop::save_checkpoint(const std::filesystem::path& path, const SaveOptions& options) {
  pending_saves_.push_back({path, options});
}

void FitLoop::go_back_to(const std::filesystem::path& checkpoint) { pending_go_back_ = checkpoint; }

std::optional<std::filesystem::path> FitLoop::last_checkpoint() {
  writer_.wait();
  return writer_.last_complete();
}

bool FitLoop::claim(const std::filesystem::path& path, const std::string& owner) {
  return owners_.try_emplace(path.lexically_normal(), owner).first->second == owner;
}

void FitLoop::skip_optimizer_step() { step_.skip(); }

void FitLoop::set_accumulate_grad_batches(int64_t num_batches) {
  if (num_batches < 1) {
    throw ConfigError(
        fmt::format("[Trainer] a window has at least one micro-batch, a callback asked for {}.", num_batches));
  }
  position_.accumulate_grad_batches = num_batches;
}

void FitLoop::log(std::string_view name, double value, const LogOptions& options) {
  MetricStore* store = log_store();
  if (store == nullptr) {
    throw ConfigError(
        fmt::format("[Trainer] a callback logged \"{}\" in a hook after which no row is written. Log in a hook of a "
                    "batch, an epoch or a validation.",
                    name));
  }
  store->log(name, value, options, options.weight.value_or(1.0));
}

MetricStore* FitLoop::log_store() {
  if (log_target_ == LogTarget::kNone) return nullptr;
  return log_target_ == LogTarget::kStep ? &store_ : &epoch_store_;
}

StepContext FitLoop::hook_context(LogTarget target) {
  log_target_ = target;
  return {Stage::kTrain, run_.state, log_store()};
}

void FitLoop::flush_saves() {
  for (const PendingSave& save : std::exchange(pending_saves_, {})) {
    const ProfileScope profile(run_.profiler, Section::kCheckpoint);
    run_.flush_loggers();
    Checkpoint state = checkpoint(save.options.weights_only);  // collective
    if (strategy_.communicator().rank() == 0) writer_.submit(save.path, std::move(state), save.options);
    strategy_.communicator().barrier();
  }
}

Checkpoint FitLoop::checkpoint(bool weights_only) {
  Checkpoint checkpoint;
  checkpoint.model = strategy_.model_state(module_);
  for (const auto& callback : run_.parts.callbacks) callback->on_save_checkpoint(context_, checkpoint.model);
  checkpoint.run = common_state(run_, module_);
  if (weights_only) return checkpoint;
  FitPosition position = position_;
  position.seconds = seconds();
  position.micro_batch_limit = step_.micro_batches().limit();
  checkpoint.optimizer = driver_.state();
  if (!position_.window.is_empty()) checkpoint.optimizer.merge("gradients.", gradient_state(module_));
  checkpoint.run.merge("position.", position.state());
  checkpoint.run.merge("steps.", store_.state());
  checkpoint.run.merge("epochs.", epoch_store_.state());
  checkpoint.run.merge("loader.", data_.train().state());
  checkpoint.run.set("validation_batches", run_.num_eval_batches[static_cast<size_t>(Stage::kValidate)]);
  checkpoint.run.merge("", surrounding_state(run_));
  return checkpoint;
}

void FitLoop::load_state(const Checkpoint& checkpoint, const std::filesystem::path& folder) {
  const StateDict& saved = checkpoint.run;
  check_resumable(saved);
  resumed_from_ = std::filesystem::canonical(folder);  // links may move
  writer_.start_from(resumed_from_);
  resumed_loggers_ = logger_states(run_);
  driver_.prepare(global_batch_size(), total_steps(), max_epochs_);
  driver_.load_state(checkpoint.optimizer);
  load_gradient_state(module_, checkpoint.optimizer.under("gradients."));
  position_.load_state(saved.under("position."));
  step_.micro_batches().restore_limit(position_.micro_batch_limit);
  store_.load_state(saved.under("steps."));
  epoch_store_.load_state(saved.under("epochs."));
  run_.parts.precision->load_state(saved.under("precision."));
  resumed_random_ = saved.under("random.");
  if (saved.contains("validation_batches")) {
    run_.num_eval_batches[static_cast<size_t>(Stage::kValidate)] = saved.integer("validation_batches");
  }
  is_resumed_ = true;
  is_resumed_in_epoch_ = !position_.is_epoch_over && run_.state.batch_idx > 0;
  if (position_.is_epoch_over) {
    ++run_.state.epoch;
    run_.state.batch_idx = 0;
    position_.is_epoch_over = false;
    is_last_epoch_whole_ = true;
  } else {
    data_.train().start_epoch(run_.state.epoch);
  }
  const StateDict loader = saved.under("loader.");
  if (!loader.empty()) data_.train().load_state(loader);
  update_num_batches();
}

void FitLoop::go_back() {
  pending_saves_.clear();  // they would hold what is about to be given up
  const std::filesystem::path path = *std::exchange(pending_go_back_, std::nullopt);
  writer_.wait();
  const Checkpoint checkpoint = load_checkpoint(path);
  check_resumable(checkpoint.run);
  load_model(checkpoint, strategy_, module_);
  driver_.load_state(checkpoint.optimizer);
  driver_.zero_grad();
  position_.window.begin(1);
  run_.parts.precision->load_state(checkpoint.run.under("precision."));
  run_.state.global_step = checkpoint.run.integer("global_step");
  last_logged_step_ = run_.state.global_step;
  run_.callbacks.load_state(checkpoint.run.under("callbacks."), /*go_back=*/true);
  load_logger_states(run_, path == resumed_from_ ? resumed_loggers_ : checkpoint.run);
  if (checkpoint.run.contains("validation_batches")) {
    run_.num_eval_batches[static_cast<size_t>(Stage::kValidate)] = checkpoint.run.integer("validation_batches");
  }
}

}  // namespace levin
