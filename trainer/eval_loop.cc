#include "trainer/eval_loop.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/hooks.h"
#include "trainer/step_errors.h"
#include "trainer/transfer.h"

namespace levin {
namespace {

/// Puts a module and all below it into eval mode, and each back into its own mode at the end.
class EvalModeScope {
 public:
  explicit EvalModeScope(torch::nn::Module& module) : module_(module), was_training_(module.is_training()) {
    // Without the module itself, which need not be owned by a shared_ptr.
    for (const auto& submodule : module.modules(/*include_self=*/false)) {
      submodules_.emplace_back(submodule, submodule->is_training());
    }
    module.eval();
  }
  // train() also sets the modules below, so the outer ones come first.
  ~EvalModeScope() {
    module_.train(was_training_);
    for (const auto& [submodule, was_training] : submodules_) {
      if (submodule->is_training() != was_training) submodule->train(was_training);
    }
  }
  EvalModeScope(const EvalModeScope&) = delete;
  EvalModeScope& operator=(const EvalModeScope&) = delete;

 private:
  torch::nn::Module& module_;
  bool was_training_;
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> submodules_;
};

using BatchHook = void (Callback::*)(const RunContext&, const Batch&);
using ModuleBatchHook = void (LightningModule::*)(const Batch&, StepContext&);
using StageHook = void (Callback::*)(const RunContext&);
using ModuleStageHook = void (LightningModule::*)(StepContext&);

struct HookPair {
  StageHook callback;
  ModuleStageHook module;
};

/// What holds during a pass: eval mode, no gradients.
struct EvalScope {
  EvalScope(LightningModule& module, bool is_inference) : mode(module), inference_mode(is_inference) {}
  EvalModeScope mode;
  c10::InferenceMode inference_mode;
  at::NoGradGuard no_grad;
};

struct EvalHooks {
  HookPair start, epoch_start, epoch_end, end;
  BatchHook batch_start;
  ModuleBatchHook module_batch_start;
  BatchHook batch_end;  // this and the next are unused for predict
  ModuleBatchHook module_batch_end;
};

const EvalHooks& hooks_of(Stage stage) {
  using C = Callback;
  using M = LightningModule;
  static const EvalHooks validation = {{&C::on_validation_start, &M::on_validation_start},
                                       {&C::on_validation_epoch_start, &M::on_validation_epoch_start},
                                       {&C::on_validation_epoch_end, &M::on_validation_epoch_end},
                                       {&C::on_validation_end, &M::on_validation_end},
                                       &C::on_validation_batch_start,
                                       &M::on_validation_batch_start,
                                       &C::on_validation_batch_end,
                                       &M::on_validation_batch_end};
  static const EvalHooks test = {{&C::on_test_start, &M::on_test_start},
                                 {&C::on_test_epoch_start, &M::on_test_epoch_start},
                                 {&C::on_test_epoch_end, &M::on_test_epoch_end},
                                 {&C::on_test_end, &M::on_test_end},
                                 &C::on_test_batch_start,
                                 &M::on_test_batch_start,
                                 &C::on_test_batch_end,
                                 &M::on_test_batch_end};
  static const EvalHooks predict = {{&C::on_predict_start, &M::on_predict_start},
                                    {&C::on_predict_epoch_start, &M::on_predict_epoch_start},
                                    {&C::on_predict_epoch_end, &M::on_predict_epoch_end},
                                    {&C::on_predict_end, &M::on_predict_end},
                                    &C::on_predict_batch_start,
                                    &M::on_predict_batch_start,
                                    nullptr,
                                    nullptr};
  if (stage == Stage::kTest) return test;
  return stage == Stage::kPredict ? predict : validation;
}

const char* step_name(Stage stage) {
  if (stage == Stage::kTest) return "test_step";
  return stage == Stage::kPredict ? "predict_step" : "validation_step";
}

std::optional<int64_t> resolve_limit(const TrainerOptions& options, Stage stage, std::optional<int64_t> available) {
  if (stage == Stage::kTest) return options.limit_test_batches.resolve(available, "limit_test_batches");
  if (stage == Stage::kPredict) return options.limit_predict_batches.resolve(available, "limit_predict_batches");
  return options.limit_val_batches.resolve(available, "limit_val_batches");
}

}  // namespace

EvalLoop::EvalLoop(Run& run, TrainerControl& control, LightningModule& module, DataLoader& loader, Stage stage,
                   EvalSurroundings surroundings)
    : run_(run),
      control_(control),
      module_(module),
      loader_(loader),
      stage_(stage),
      surroundings_(std::move(surroundings)),
      store_(stage),
      run_dir_(run.folder_path()),
      num_batches_(resolve_limit(run.options, stage, loader.num_batches())) {}

RunContext EvalLoop::context() {
  return {.stage = stage_,
          .is_sanity_checking = is_sanity_checking_,
          .is_fitting = surroundings_.is_fitting,
          .has_validation = surroundings_.is_fitting,
          .state = state_,
          .metrics = run_.metrics,
          .store = store_,
          .module = module_,
          .optimizers = surroundings_.optimizers,
          .communicator = run_.parts.strategy->communicator(),
          .control = *this,
          .loggers = run_.parts.loggers,
          .options = run_.options,
          .run_dir = run_dir_,
          .num_batches = num_batches_,
          .max_epochs = std::nullopt,
          .max_steps = std::nullopt};
}

void EvalLoop::log(std::string_view name, double value, const LogOptions& options) {
  if (is_reduced_) {
    throw ConfigError(fmt::format(
        "[Trainer] a callback logged \"{}\" at the end of a {} pass, whose metrics are reduced already. Log "
        "in a hook of a batch, or in the one of the epoch's end.",
        name, stage_name(stage_)));
  }
  store_.log(name, value, options, options.weight.value_or(1.0));
}

Metrics EvalLoop::run_pass() {
  const EvalScope scope(module_, !surroundings_.is_fitting && run_.options.inference_mode);
  run_batches(num_batches_);
  Metrics metrics = reduce_metrics();
  StepContext ctx(stage_, state_, nullptr);
  const EvalHooks& hooks = hooks_of(stage_);
  run_.hooks(module_).call(hooks.end.callback, hooks.end.module, context(), ctx);
  store_.reset_epoch();
  return metrics;
}

void EvalLoop::run_sanity_check(int64_t max_batches) {
  const EvalScope scope(module_, /*is_inference=*/false);
  is_sanity_checking_ = true;
  std::optional<int64_t> limit = num_batches_;
  if (max_batches >= 0) limit = std::min(max_batches, num_batches_.value_or(max_batches));
  run_batches(limit);
  StepContext ctx(stage_, state_, nullptr);
  const EvalHooks& hooks = hooks_of(stage_);
  run_.hooks(module_).call(hooks.end.callback, hooks.end.module, context(), ctx);
  store_.reset_epoch();
  store_ = MetricStore(stage_);
  is_sanity_checking_ = false;
}

void EvalLoop::run_batches(std::optional<int64_t> max_batches) {
  const EvalHooks& hooks = hooks_of(stage_);
  state_ = run_.state;
  state_.batch_idx = 0;
  store_.reset_epoch();
  is_reduced_ = false;
  predictions_.clear();
  batch_rows_.clear();

  StepContext outside(stage_, state_, nullptr);
  StepContext ctx = hook_context();
  const RunContext run = context();
  const Hooks all = run_.hooks(module_);
  loader_.start_epoch(0);
  all.call(hooks.start.callback, hooks.start.module, run, outside);
  all.call(hooks.epoch_start.callback, hooks.epoch_start.module, run, ctx);
  while (!max_batches || state_.batch_idx < *max_batches) {
    std::optional<Batch> batch = loader_.next();
    if (!batch) break;
    run_batch(transfer_batch(run_, module_, *std::move(batch), stage_));
    ++state_.batch_idx;
    if (surroundings_.between_batches) surroundings_.between_batches();
  }
  loader_.stop();
  all.call(hooks.epoch_end.callback, hooks.epoch_end.module, run, ctx);
}

Metrics EvalLoop::reduce_metrics() {
  is_reduced_ = true;
  Metrics metrics = store_.epoch_metrics(run_.parts.strategy->communicator());
  run_.metrics.set_all(metrics);
  run_.log_batch_rows(std::exchange(batch_rows_, {}), stage_);
  run_.num_eval_batches[static_cast<size_t>(stage_)] += state_.batch_idx;
  Metrics row;
  for (const auto& [name, value] : metrics) {
    if (store_.goes_to_logger(name)) row.set(name, value);
  }
  run_.log_row(row);
  return metrics;
}

void EvalLoop::run_batch(const Batch& batch) {
  const EvalHooks& hooks = hooks_of(stage_);
  const Hooks all = run_.hooks(module_);
  RunContext run = context();
  run.sample_indices = loader_.sample_indices();
  StepContext ctx(stage_, state_, batch, store_);
  all.call(hooks.batch_start, hooks.module_batch_start, run, ctx, batch);
  call_step(batch);
  if (stage_ == Stage::kPredict) {
    all.call(&Callback::on_predict_batch_end, &LightningModule::on_predict_batch_end, run, ctx, prediction_, batch);
    if (surroundings_.keeps_predictions) predictions_.push_back(std::move(prediction_));
    prediction_ = Batch();
  } else {
    all.call(hooks.batch_end, hooks.module_batch_end, run, ctx, batch);
  }
  store_.end_step();
  if (stage_ == Stage::kPredict || is_sanity_checking_ || run_.parts.loggers.empty()) return;
  Metrics row = store_.step_metrics();
  if (!row.empty()) batch_rows_.push_back({state_.batch_idx, std::move(row)});
}

void EvalLoop::call_step(const Batch& batch) {
  StepContext ctx(stage_, state_, batch, store_);
  const auto forward_scope = run_.parts.precision->forward_scope();
  try {
    switch (stage_) {
      case Stage::kTest: module_.test_step(batch, ctx); break;
      case Stage::kPredict: prediction_ = module_.predict_step(batch, ctx).to(at::Device(at::kCPU)); break;
      default: module_.validation_step(batch, ctx); break;
    }
  } catch (const c10::Error& error) {
    rethrow_step_error(error, step_name(stage_), state_, batch);
  }
}

}  // namespace levin
