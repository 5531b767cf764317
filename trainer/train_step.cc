#include "trainer/train_step.h"

#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "trainer/anomaly_watch.h"
#include "trainer/core/byte_size.h"
#include "trainer/core/error.h"
#include "trainer/core/gradients.h"
#include "trainer/step_errors.h"

namespace levin {
namespace {

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

std::vector<at::Tensor> all_parameters(OptimizerDriver& driver) {
  std::vector<at::Tensor> result;
  std::unordered_set<const c10::TensorImpl*> seen;
  for (size_t i = 0; i < driver.size(); ++i) {
    for (const at::Tensor& parameter : parameters_of(driver.optimizers()[i])) {
      if (seen.insert(parameter.unsafeGetTensorImpl()).second) result.push_back(parameter);
    }
  }
  return result;
}

/// The loss of a micro-batch as its part of the window's: divided so that the parts add up to the mean.
/// batch_samples: of the batch that `part` is of; 0: it is the whole.
at::Tensor loss_in_window(const StepOutput& output, const Batch& part, int64_t batch_samples, LossWindow& window) {
  if (batch_samples == 0) {
    if (output.is_weighted()) return output.loss().div(window.divisor(output.weight()));
    if (window.size() == 1) {
      window.divisor(1.0);
      return output.loss();
    }
  }
  const auto samples = static_cast<double>(part.batch_size());
  const double all = batch_samples == 0 ? samples : static_cast<double>(batch_samples);
  if (output.is_weighted()) return output.loss().div(window.divisor(output.weight(), samples, all));
  return output.loss().mul(samples / window.divisor(samples, samples, all));
}

std::unique_ptr<MemoryLimit> make_memory_limit(const TrainerOptions& options, const Strategy& strategy) {
  if (options.memory_limit.empty() || !strategy.device().is_cpu()) return nullptr;
  return std::make_unique<MemoryLimit>(try_parse_byte_size(options.memory_limit).value());
}

}  // namespace

TrainStep::TrainStep(Run& run, LightningModule& module, OptimizerDriver& driver, MetricStore& store, LossWindow& window,
                     const RunContext& context)
    : run_(run),
      module_(module),
      driver_(driver),
      store_(store),
      window_(window),
      context_(context),
      strategy_(*run.parts.strategy),
      precision_(*run.parts.precision),
      hooks_(run.hooks(module)),
      parameters_(all_parameters(driver)),
      micro_batches_(run.options.micro_batch_size),
      memory_limit_(make_memory_limit(run.options, strategy_)),
      is_manual_(!module.automatic_optimization()),
      needs_closure_(driver.needs_closure()) {
  if (micro_batches_.is_automatic()) buffers_ = module.buffers();
}

StepOutput TrainStep::forward_backward(const Batch& batch) {
  const MemoryLimit::Scope memory(memory_limit_.get());
  return micro_batches_.is_on() ? run_in_parts(batch) : run_part({.batch = batch}, store_);
}

StepOutput TrainStep::run_part(const Part& part, MetricStore& store) {
  const Batch& batch = part.batch;
  StepContext ctx(Stage::kTrain, run_.state, batch, store, is_manual_ ? this : nullptr);
  try {
    StepOutput output = StepOutput::skip();
    {
      const ProfileScope profile(run_.profiler, Section::kForward);
      const auto forward_scope = precision_.forward_scope();
      output = module_.training_step(batch, ctx);
    }
    if (is_manual_ || output.is_skip()) return output;
    check_loss(output, run_.state);
    const at::Tensor loss = loss_in_window(output, batch, part.batch_samples, window_);
    const bool is_last = part.is_last && window_.count() + 1 >= window_.size();
    run_backward(loss, is_last ? GradSync::kNow : GradSync::kDefer);
    if (needs_closure_) {
      window_batches_.push_back(batch);
      window_loss_ = window_loss_.defined() ? window_loss_.add(loss.detach()) : loss.detach();
    }
    return output;
  } catch (const c10::Error& error) {
    rethrow_step_error(error, "training_step", run_.state, batch);
  }
}

void TrainStep::run_backward(const at::Tensor& loss, GradSync sync) {
  const at::Tensor scaled = precision_.scale_loss(loss);
  StepContext ctx = step_context();
  hooks_.call(&Callback::on_before_backward, &LightningModule::on_before_backward, context_, ctx, scaled);
  {
    const ProfileScope profile(run_.profiler, Section::kBackward);
    if (run_.options.detect_anomaly) {
      AnomalyWatch watch(scaled, run_.state);
      strategy_.backward(scaled, sync);
      watch.check(module_);
    } else {
      strategy_.backward(scaled, sync);
    }
  }
  hooks_.call(&Callback::on_after_backward, &LightningModule::on_after_backward, context_, ctx);
}

bool TrainStep::optimizer_step(const Batch& batch) try {
  const MemoryLimit::Scope memory(memory_limit_.get());
  const bool has_gradients = window_.has_gradients();
  if (has_gradients && window_.correction() != 1.0) {
    scale_gradients(gradients_of(parameters_), window_.correction());
  }
  const bool is_done = has_gradients && apply_step(0);
  {
    StepContext ctx = step_context();
    hooks_.call(&Callback::on_before_zero_grad, &LightningModule::on_before_zero_grad, context_, ctx);
    const ProfileScope profile(run_.profiler, Section::kOptimizer);
    driver_.zero_grad();
  }
  window_batches_.clear();
  window_loss_ = at::Tensor();
  return is_done;
} catch (const c10::Error& error) {
  rethrow_step_error(error, "optimizer_step", run_.state, batch);
}

bool TrainStep::apply_step(size_t index) {
  Optimizer& optimizer = driver_.optimizers()[index];
  bool is_finite = false;
  {
    const ProfileScope profile(run_.profiler, Section::kOptimizer);
    is_finite =
        precision_.unscale_gradients(is_manual_ ? parameters_of(optimizer) : parameters_, strategy_.communicator());
  }
  is_skipped_ = false;
  if (is_finite) {
    StepContext ctx = step_context();
    {
      const ProfileScope profile(run_.profiler, Section::kCallbacks);
      run_.callbacks.call(&Callback::on_before_optimizer_step, context_);
      module_.on_before_optimizer_step(optimizer, ctx);
    }
    if (!is_skipped_) {
      const ProfileScope profile(run_.profiler, Section::kOptimizer);
      driver_.clip(index, ctx);
      needs_closure_ ? step_with_closure(optimizer) : strategy_.optimizer_step(optimizer);
    }
  }
  const bool is_done = is_finite && !is_skipped_;
  const ProfileScope profile(run_.profiler, Section::kOptimizer);
  precision_.update();
  return is_done;
}

void TrainStep::step_with_closure(Optimizer& optimizer) {
  // The gradients of the first evaluation are there already.
  bool is_first = true;
  optimizer.step([&] {
    if (std::exchange(is_first, false)) return window_loss_;
    return evaluate_window();
  });
}

at::Tensor TrainStep::evaluate_window() {
  driver_.zero_grad();
  // What the step logs was logged by the first evaluation.
  MetricStore unused(Stage::kTrain);
  LossWindow window;
  window.begin(static_cast<int64_t>(window_batches_.size()));
  at::Tensor total;
  for (const Batch& batch : window_batches_) {
    StepContext ctx(Stage::kTrain, run_.state, batch, unused);
    const auto forward_scope = precision_.forward_scope();
    const StepOutput output = module_.training_step(batch, ctx);
    if (output.is_skip()) continue;
    check_loss(output, run_.state);
    const at::Tensor loss = loss_in_window(output, batch, /*batch_samples=*/0, window);
    strategy_.backward(loss, GradSync::kNow);
    total = total.defined() ? total.add(loss.detach()) : loss.detach();
  }
  if (!total.defined()) return at::zeros_like(window_loss_);
  if (window.correction() != 1.0) scale_gradients(gradients_of(parameters_), window.correction());
  StepContext ctx = step_context();
  driver_.clip(0, ctx);
  return total.mul(window.correction());
}

Optimizer& TrainStep::optimizer(size_t index) {
  if (index >= driver_.size()) {
    throw ConfigError(fmt::format("[manual optimization] there is no optimizer {}: configure_optimizers returned {}.",
                                  index, driver_.size()));
  }
  return driver_.optimizers()[index];
}

void TrainStep::backward(const at::Tensor& loss) {
  if (!loss.defined() || loss.numel() != 1 || !loss.requires_grad()) {
    throw ModelError(
        fmt::format("[manual optimization] backward needs a loss with one element that depends on parameters, got {}.",
                    describe_tensor(loss)));
  }
  run_backward(loss, GradSync::kNow);
}

void TrainStep::step(size_t index) {
  optimizer(index);
  if (!apply_step(index)) return;
  ++run_.state.global_step;
}

void TrainStep::zero_grad(size_t index) {
  StepContext ctx = step_context();
  hooks_.call(&Callback::on_before_zero_grad, &LightningModule::on_before_zero_grad, context_, ctx);
  optimizer(index).zero_grad();
}

void TrainStep::toggle(size_t index) {
  if (!toggled_.empty()) throw ConfigError("[manual optimization] toggle() was called twice without untoggle().");
  std::unordered_set<const c10::TensorImpl*> kept;
  for (const at::Tensor& parameter : parameters_of(optimizer(index))) kept.insert(parameter.unsafeGetTensorImpl());
  for (at::Tensor& parameter : parameters_) {
    if (kept.contains(parameter.unsafeGetTensorImpl())) continue;
    toggled_.emplace_back(parameter, parameter.requires_grad());
    parameter.set_requires_grad(false);
  }
}

void TrainStep::untoggle() {
  for (auto& [parameter, requires_grad] : toggled_) parameter.set_requires_grad(requires_grad);
  toggled_.clear();
}

void TrainStep::step_schedule(size_t index) {
  optimizer(index);
  driver_.advance(index, run_.metrics);
}

}  // namespace levin
