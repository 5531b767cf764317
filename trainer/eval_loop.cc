#include "trainer/eval_loop.h"

#include <ATen/core/grad_mode.h>

#include "trainer/step_errors.h"

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

struct EvalHooks {
  void (Callback::*start)(const RunContext&);
  void (Callback::*batch_start)(const RunContext&, const Batch&);
  void (Callback::*batch_end)(const RunContext&, const Batch&);  // unused for predict
  void (Callback::*end)(const RunContext&);
};

EvalHooks hooks_of(Stage stage) {
  if (stage == Stage::kTest) {
    return {&Callback::on_test_start, &Callback::on_test_batch_start, &Callback::on_test_batch_end,
            &Callback::on_test_end};
  }
  if (stage == Stage::kPredict) {
    return {&Callback::on_predict_start, &Callback::on_predict_batch_start, nullptr, &Callback::on_predict_end};
  }
  return {&Callback::on_validation_start, &Callback::on_validation_batch_start, &Callback::on_validation_batch_end,
          &Callback::on_validation_end};
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

EvalLoop::EvalLoop(Run& run, TrainerControl& control, LightningModule& module, DataLoader& loader, Stage stage)
    : run_(run),
      control_(control),
      module_(module),
      loader_(loader),
      stage_(stage),
      store_(stage),
      run_dir_(run.folder_path()),
      num_batches_(resolve_limit(run.options, stage, loader.num_batches())) {}

RunContext EvalLoop::context() {
  return {.stage = stage_,
          .is_sanity_checking = false,
          .is_fitting = false,
          .has_validation = false,
          .state = state_,
          .metrics = run_.metrics,
          .store = store_,
          .module = module_,
          .optimizers = nullptr,
          .communicator = run_.parts.strategy->communicator(),
          .control = control_,
          .loggers = run_.parts.loggers,
          .options = run_.options,
          .run_dir = run_dir_,
          .num_batches = num_batches_,
          .max_epochs = std::nullopt,
          .max_steps = std::nullopt};
}

Metrics EvalLoop::run_pass() {
  const EvalModeScope eval_mode(module_);
  const at::NoGradGuard no_grad;
  const EvalHooks hooks = hooks_of(stage_);
  state_ = run_.state;
  state_.batch_idx = 0;
  store_.reset_epoch();
  predictions_.clear();

  loader_.start_epoch(0);
  run_.callbacks.call(hooks.start, context());
  while (!num_batches_ || state_.batch_idx < *num_batches_) {
    std::optional<Batch> batch = loader_.next();
    if (!batch) break;
    run_batch(run_.parts.precision->convert_input(batch->to(run_.parts.strategy->device())));
    ++state_.batch_idx;
  }
  const Metrics metrics = store_.epoch_metrics(run_.parts.strategy->communicator());
  run_.metrics.set_all(metrics);
  Metrics row;
  for (const auto& [name, value] : metrics) {
    if (store_.goes_to_logger(name)) row.set(name, value);
  }
  run_.log_row(row);
  run_.callbacks.call(hooks.end, context());
  return metrics;
}

void EvalLoop::run_batch(const Batch& batch) {
  const EvalHooks hooks = hooks_of(stage_);
  run_.callbacks.call(hooks.batch_start, context(), batch);
  call_step(batch);
  store_.end_step();
  if (stage_ == Stage::kPredict) {
    run_.callbacks.call(&Callback::on_predict_batch_end, context(), predictions_.back(), batch);
  } else {
    run_.callbacks.call(hooks.batch_end, context(), batch);
  }
}

void EvalLoop::call_step(const Batch& batch) {
  StepContext ctx(stage_, state_, batch, store_);
  const auto forward_scope = run_.parts.precision->forward_scope();
  try {
    switch (stage_) {
      case Stage::kTest: module_.test_step(batch, ctx); break;
      case Stage::kPredict: predictions_.push_back(module_.predict_step(batch, ctx).to(at::Device(at::kCPU))); break;
      default: module_.validation_step(batch, ctx); break;
    }
  } catch (const c10::Error& error) {
    rethrow_step_error(error, step_name(stage_), state_, batch);
  }
}

}  // namespace levin
