#include "trainer/fit_checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/core/error.h"
#include "trainer/core/lightning_data_module.h"
#include "trainer/core/named_parameters.h"
#include "trainer/core/random.h"

namespace levin {
namespace {

std::string logger_prefix(size_t index) { return fmt::format("loggers.{}.", index); }

}  // namespace

StateDict common_state(const Run& run, LightningModule& module) {
  StateDict state;
  state.set("epoch", run.state.epoch);
  state.set("batch_idx", run.state.batch_idx);
  state.set("global_step", run.state.global_step);
  state.set("num_samples", run.state.num_samples);
  state.set("seed", static_cast<int64_t>(run.seed));
  if (run.batch_size) state.set("tuner.batch_size", *run.batch_size);
  for (const auto& [name, value] : run.metrics) state.set("metrics." + name, value);
  state.merge("hyperparameters.", module.hyperparameters());
  StateDict extra;
  module.on_save_checkpoint(extra);
  state.merge("module_extra.", extra);
  return state;
}

void load_common_state(Run& run, const StateDict& saved) {
  run.state = {.epoch = saved.integer("epoch"),
               .batch_idx = saved.integer("batch_idx"),
               .global_step = saved.integer("global_step"),
               .num_samples = saved.integer("num_samples")};
  run.seed = static_cast<uint64_t>(saved.integer("seed"));
  if (saved.contains("tuner.batch_size")) run.batch_size = saved.integer("tuner.batch_size");
  run.metrics.clear();
  for (const auto& [name, value] : saved.under("metrics.")) run.metrics.set(name, std::get<double>(value));
}

StateDict surrounding_state(const Run& run) {
  StateDict state;
  state.merge("callbacks.", run.callbacks.state());
  if (run.data != nullptr) state.merge("data.", run.data->state());
  state.merge("precision.", run.parts.precision->state());
  state.merge("", logger_states(run));
  state.merge("random.", random_state());
  return state;
}

void check_resumable(const StateDict& saved) {
  if (saved.contains("position.total_batches")) return;
  throw CheckpointError(
      "it holds the weights only, so that a fit cannot go on from it. Load its weights into the model, or resume from "
      "a "
      "checkpoint that was saved without save_weights_only.");
}

void load_model(const Checkpoint& checkpoint, Strategy& strategy, LightningModule& module) {
  strategy.load_model_state(module, checkpoint.model);
  module.on_load_checkpoint(checkpoint.run.under("module_extra."));
}

StateDict logger_states(const Run& run) {
  StateDict state;
  for (size_t i = 0; i < run.parts.loggers.size(); ++i) state.merge(logger_prefix(i), run.parts.loggers[i]->state());
  return state;
}

void load_logger_states(Run& run, const StateDict& saved) {
  if (run.parts.strategy->communicator().rank() != 0) return;
  for (size_t i = 0; i < run.parts.loggers.size(); ++i) {
    const StateDict state = saved.under(logger_prefix(i));
    if (!state.empty()) run.parts.loggers[i]->load_state(state);
  }
}

StateDict gradient_state(const LightningModule& module) {
  StateDict state;
  for (const auto& [name, parameter] : named_parameters(module)) {
    if (parameter.grad().defined()) state.set(name, parameter.grad());
  }
  return state;
}

void load_gradient_state(LightningModule& module, const StateDict& saved) {
  for (auto& [name, parameter] : named_parameters(module)) {
    at::Tensor& gradient = parameter.mutable_grad();
    gradient.reset();
    if (!saved.contains(name)) continue;
    const at::Tensor& value = saved.tensor(name);
    if (value.sizes() != parameter.sizes()) {
      throw CheckpointError(fmt::format("the gradient of {} has shape {} in the checkpoint, the parameter has {}.",
                                        name, fmt::join(value.sizes(), "x"), fmt::join(parameter.sizes(), "x")));
    }
    gradient = value.to(parameter.options(), /*non_blocking=*/false, /*copy=*/true);
  }
}

}  // namespace levin
