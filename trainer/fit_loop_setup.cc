// What a fit works with: limits, lengths, the validation.

#include <fmt/format.h>

#include <algorithm>

#include "trainer/core/duration.h"
#include "trainer/core/error.h"
#include "trainer/fit_loop.h"

namespace levin {
namespace {

constexpr int64_t kDefaultMaxEpochs = 1000;

std::optional<int64_t> to_limit(int64_t value) { return value < 0 ? std::nullopt : std::optional(value); }

std::optional<double> to_seconds(const std::string& duration) {
  return duration.empty() ? std::nullopt : std::optional(parse_duration(duration).count());
}

}  // namespace

FitLoop::FitLoop(Run& run, LightningModule& module, Optimizers& optimizers, FitData& data,
                 std::function<void()> on_epoch_done)
    : run_(run),
      module_(module),
      data_(data),
      on_epoch_done_(std::move(on_epoch_done)),
      strategy_(*run.parts.strategy),
      run_dir_(run.folder_path()),
      driver_(run.options, strategy_, module, optimizers),
      hooks_(run.hooks(module)),
      max_epochs_(to_limit(run.options.max_epochs)),
      max_steps_(to_limit(run.options.max_steps)),
      max_seconds_(to_seconds(run.options.max_time)),
      num_batches_(run.options.limit_train_batches.resolve(data.train().num_batches(), "limit_train_batches")),
      validation_schedule_(run.options, num_batches_),
      context_(make_context()),
      step_(run, module, driver_, store_, position_.window, context_) {
  if (!max_epochs_ && !max_steps_ && !max_seconds_) max_epochs_ = kDefaultMaxEpochs;
  context_.max_epochs = max_epochs_;
  position_.accumulate_grad_batches = run.options.accumulate_grad_batches;
  if (!module.automatic_optimization()) check_manual_options();
  make_validation();
}

RunContext FitLoop::make_context() {
  return {.stage = Stage::kTrain,
          .is_sanity_checking = false,
          .is_fitting = true,
          .has_validation = false,
          .state = run_.state,
          .metrics = run_.metrics,
          .store = store_,
          .module = module_,
          .optimizers = &driver_.optimizers(),
          .communicator = strategy_.communicator(),
          .control = *this,
          .loggers = run_.parts.loggers,
          .options = run_.options,
          .run_dir = run_dir_,
          .num_batches = num_batches_,
          .max_epochs = max_epochs_,
          .max_steps = max_steps_};
}

void FitLoop::check_manual_options() const {
  const TrainerOptions& options = run_.options;
  if (options.accumulate_grad_batches == 1 && !options.gradient_clip_val && options.micro_batch_size.is_whole_batch()) {
    return;
  }
  throw ConfigError(
      fmt::format("[Trainer] the module steps its optimizers itself (automatic_optimization() is false), so that "
                  "accumulate_grad_batches ({}), gradient_clip_val and micro_batch_size ({}) have nothing to act on. "
                  "Leave them out.",
                  options.accumulate_grad_batches, options.micro_batch_size.to_string()));
}

void FitLoop::make_validation() {
  validation_.reset();
  context_.has_validation = data_.val() != nullptr && !run_.options.limit_val_batches.is_zero();
  if (!context_.has_validation) return;
  validation_.emplace(
      run_, *this, module_, *data_.val(), Stage::kValidate,
      EvalSurroundings{
          .is_fitting = true, .optimizers = &driver_.optimizers(), .between_batches = [this] { check_signals(); }});
}

void FitLoop::reload_data() {
  data_.reload();
  update_num_batches();
  make_validation();
}

// One epoch may have more batches than another: after a reload, or a resume with another number of ranks.
void FitLoop::update_num_batches() {
  const std::optional<int64_t> num_batches =
      run_.options.limit_train_batches.resolve(data_.train().num_batches(), "limit_train_batches");
  if (num_batches == num_batches_) return;
  num_batches_ = num_batches;
  context_.num_batches = num_batches;
  validation_schedule_ = ValidationSchedule(run_.options, num_batches);
}

std::optional<int64_t> FitLoop::total_steps() const {
  std::optional<int64_t> total = max_steps_;
  if (num_batches_ && max_epochs_ && *max_epochs_ < kDefaultMaxEpochs * kDefaultMaxEpochs) {
    const int64_t accumulate = position_.accumulate_grad_batches;
    const int64_t steps = run_.options.accumulate_across_epochs
                              ? *num_batches_ * *max_epochs_ / accumulate
                              : (*num_batches_ + accumulate - 1) / accumulate * *max_epochs_;
    total = total ? std::min(*total, steps) : steps;
  }
  return total;
}

std::optional<int64_t> FitLoop::global_batch_size() const {
  const std::optional<int64_t> size = data_.train().batch_size();
  if (!size) return std::nullopt;
  return *size * position_.accumulate_grad_batches * strategy_.communicator().world_size();
}

}  // namespace levin
