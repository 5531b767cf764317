#include "trainer/optim/apply_schedule.h"

#include <fmt/format.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include "trainer/core/error.h"
#include "trainer/core/group_options.h"

namespace levin {
namespace {

template <class Options>
bool set_beta1(torch::optim::OptimizerOptions& options, double beta1) {
  auto* adam = dynamic_cast<Options*>(&options);
  if (adam != nullptr) adam->betas({beta1, std::get<1>(adam->betas())});
  return adam != nullptr;
}

template <class Options>
bool set_plain_momentum(torch::optim::OptimizerOptions& options, double momentum) {
  auto* typed = dynamic_cast<Options*>(&options);
  if (typed != nullptr) typed->momentum(momentum);
  return typed != nullptr;
}

bool set_momentum(torch::optim::OptimizerOptions& options, double momentum) {
  if (auto* own = dynamic_cast<AnyGroupOptions*>(&options)) return own->set_momentum(momentum);
  return set_plain_momentum<torch::optim::SGDOptions>(options, momentum) ||
         set_plain_momentum<torch::optim::RMSpropOptions>(options, momentum) ||
         set_beta1<torch::optim::AdamOptions>(options, momentum) ||
         set_beta1<torch::optim::AdamWOptions>(options, momentum);
}

}  // namespace

void apply_schedule(Optimizer& optimizer, const Schedule& schedule, const std::vector<double>& base_learning_rates,
                    int64_t step) {
  auto& groups = optimizer.param_groups();
  if (groups.size() != base_learning_rates.size()) {
    throw ConfigError(
        fmt::format("[schedule] each parameter group must have a base learning rate, got {} rates for {} groups. "
                    "Options of your own "
                    "need get_lr() and set_lr(); add every group before the optimizer is handed over.",
                    base_learning_rates.size(), groups.size()));
  }
  const std::optional<double> momentum = schedule.momentum(step);
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].options().set_lr(schedule.learning_rate(base_learning_rates[i], step));
    if (momentum && !set_momentum(groups[i].options(), *momentum)) {
      throw ConfigError(
          "[schedule] the schedule cycles the momentum, and the optimizer has none. Set cycle_momentum to false.");
    }
  }
}

}  // namespace levin
