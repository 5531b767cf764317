#include "trainer/optimizer_driver.h"

#include <fmt/format.h>
#include <torch/optim/lbfgs.h>

#include "trainer/core/error.h"
#include "trainer/core/gradients.h"
#include "trainer/core/named_parameters.h"
#include "trainer/optim/apply_schedule.h"
#include "trainer/optim/optimizer_state.h"
#include "trainer/optim/scaled_learning_rate.h"

namespace levin {
namespace {

class Clipping final : public GradientClipping {
 public:
  Clipping(const TrainerOptions& options, Strategy& strategy, const Optimizer& optimizer)
      : options_(options), strategy_(strategy), optimizer_(optimizer) {}

  const Optimizer& optimizer() const override { return optimizer_; }
  void clip_as_configured() override {
    if (!options_.gradient_clip_val) return;
    if (options_.gradient_clip_algorithm == "value") {
      clip_value(*options_.gradient_clip_val);
    } else {
      clip_norm(*options_.gradient_clip_val);
    }
  }
  void clip_norm(double max_norm) override { strategy_.clip_gradient_norm(parameters_of(optimizer_), max_norm); }
  void clip_value(double max_value) override {
    clip_gradient_value(gradients_of(parameters_of(optimizer_)), max_value);
  }

 private:
  const TrainerOptions& options_;
  Strategy& strategy_;
  const Optimizer& optimizer_;
};

LearningRateScaling scaling_of(const std::string& name) {
  if (name == "linear") return LearningRateScaling::kLinear;
  return name == "sqrt" ? LearningRateScaling::kSqrt : LearningRateScaling::kNone;
}

std::string prefix_of(size_t index) { return fmt::format("{}.", index); }
std::string schedule_prefix(size_t index) { return fmt::format("{}.schedule.", index); }

}  // namespace

std::vector<at::Tensor> parameters_of(const Optimizer& optimizer) {
  std::vector<at::Tensor> result;
  for (const auto& group : optimizer.param_groups()) {
    result.insert(result.end(), group.params().begin(), group.params().end());
  }
  return result;
}

OptimizerDriver::OptimizerDriver(const TrainerOptions& options, Strategy& strategy, LightningModule& module,
                                 Optimizers& optimizers)
    : options_(options),
      strategy_(strategy),
      module_(module),
      optimizers_(optimizers),
      intervals_(optimizers.size(), 0) {
  if (module.automatic_optimization() && optimizers.size() != 1) {
    throw ConfigError(
        fmt::format("[Trainer] automatic optimization needs exactly one optimizer, got {}. With several, override "
                    "automatic_optimization() to return false and step them in training_step by ctx.manual().",
                    optimizers.size()));
  }
}

void OptimizerDriver::prepare(std::optional<int64_t> global_batch_size, std::optional<int64_t> total_steps,
                              std::optional<int64_t> total_epochs) {
  const LearningRateScaling scaling = scaling_of(options_.lr_scaling);
  if (scaling != LearningRateScaling::kNone && !global_batch_size) {
    throw ConfigError(
        fmt::format("[Trainer] lr_scaling is \"{}\", but the training loader does not know its batch size. Set the "
                    "learning rate for this batch size and lr_scaling to \"none\".",
                    options_.lr_scaling));
  }
  for (size_t i = 0; i < optimizers_.size(); ++i) {
    if (scaling != LearningRateScaling::kNone) {
      for (double& rate : optimizers_.base_learning_rates(i)) {
        rate = scaled_learning_rate(rate, scaling, *global_batch_size, options_.lr_reference_batch_size);
      }
      auto& groups = optimizers_[i].param_groups();
      for (size_t k = 0; k < groups.size(); ++k) groups[k].options().set_lr(optimizers_.base_learning_rates(i)[k]);
    }
    const ScheduleConfig& config = optimizers_.schedule(i);
    if (!config.schedule) continue;
    auto total = config.interval == ScheduleInterval::kStep ? total_steps : total_epochs;
    if (total) *total = *total / config.frequency;
    config.schedule->set_total_steps(total);
    apply(i);
  }
}

bool OptimizerDriver::needs_closure() const {
  return optimizers_.size() == 1 && dynamic_cast<const torch::optim::LBFGS*>(&optimizers_[0]) != nullptr;
}

void OptimizerDriver::clip(size_t index, StepContext& ctx) {
  Clipping clipping(options_, strategy_, optimizers_[index]);
  module_.configure_gradient_clipping(clipping, ctx);
}

void OptimizerDriver::zero_grad() {
  for (size_t i = 0; i < optimizers_.size(); ++i) optimizers_[i].zero_grad();
}

void OptimizerDriver::apply(size_t index) {
  const ScheduleConfig& config = optimizers_.schedule(index);
  apply_schedule(optimizers_[index], *config.schedule, optimizers_.base_learning_rates(index),
                 intervals_[index] / config.frequency);
}

void OptimizerDriver::advance(size_t index, const Metrics& metrics) {
  const ScheduleConfig& config = optimizers_.schedule(index);
  if (!config.schedule) return;
  if (++intervals_[index] % config.frequency != 0) return;
  if (config.schedule->needs_metric()) {
    const std::optional<double> value = metrics.find(config.monitor);
    if (value) {
      config.schedule->observe(*value);
    } else if (config.strict) {
      throw ConfigError(fmt::format(
          "[Trainer] the schedule of optimizer {} monitors \"{}\", which was not logged. There are: {}. Log "
          "it before, or set strict to false.",
          index, config.monitor, metrics.names()));
    }
  }
  apply(index);
}

void OptimizerDriver::on_step(size_t index, const Metrics& metrics) {
  if (optimizers_.schedule(index).interval == ScheduleInterval::kStep) advance(index, metrics);
}

void OptimizerDriver::on_epoch(const Metrics& metrics) {
  for (size_t i = 0; i < optimizers_.size(); ++i) {
    if (optimizers_.schedule(i).interval == ScheduleInterval::kEpoch) advance(i, metrics);
  }
}

StateDict OptimizerDriver::state() const {
  const NamedParameters parameters = named_parameters(module_);
  StateDict state;
  for (size_t i = 0; i < optimizers_.size(); ++i) {
    state.merge(prefix_of(i) + "optimizer.",
                optimizer_state(optimizers_[i], parameters, optimizers_.base_learning_rates(i)));
    state.set(schedule_prefix(i) + "intervals", intervals_[i]);
    if (const auto& schedule = optimizers_.schedule(i).schedule) {
      state.merge(schedule_prefix(i) + "state.", schedule->state());
    }
  }
  return state;
}

void OptimizerDriver::load_state(const StateDict& state) {
  const NamedParameters parameters = named_parameters(module_);
  for (size_t i = 0; i < optimizers_.size(); ++i) {
    const StateDict saved = state.under(prefix_of(i) + "optimizer.");
    if (saved.empty()) {
      throw CheckpointError(
          fmt::format("the checkpoint has no state of optimizer {}. It was saved with weights_only, or with fewer "
                      "optimizers.",
                      i));
    }
    load_optimizer_state(optimizers_[i], parameters, saved, &optimizers_.base_learning_rates(i));
    intervals_[i] = state.integer(schedule_prefix(i) + "intervals");
    if (const auto& schedule = optimizers_.schedule(i).schedule) {
      schedule->load_state(state.under(schedule_prefix(i) + "state."));
      apply(i);
    }
  }
}

}  // namespace levin
