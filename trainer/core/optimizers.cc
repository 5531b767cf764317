#include "trainer/core/optimizers.h"

#include "trainer/core/error.h"

namespace levin {

std::vector<double> learning_rates(const Optimizer& optimizer) {
  std::vector<double> result;
  try {
    for (const auto& group : optimizer.param_groups()) result.push_back(group.options().get_lr());
  } catch (const c10::Error&) {  // LibTorch's base class throws where a user's options have no learning rate
    return {};
  }
  return result;
}

Optimizers& Optimizers::add(std::unique_ptr<Optimizer> optimizer, ScheduleConfig schedule) {
  if (optimizer == nullptr) throw ConfigError("[Optimizers] an optimizer must be given, got nullptr.");
  check_schedule(schedule);
  std::vector<double> base_learning_rates = learning_rates(*optimizer);
  entries_.push_back({std::move(optimizer), std::move(schedule), std::move(base_learning_rates)});
  return *this;
}

Optimizers OptimizerFactory::operator()(const std::vector<at::Tensor>& parameters) const {
  NamedParameters unnamed;
  unnamed.reserve(parameters.size());
  for (const at::Tensor& tensor : parameters) unnamed.emplace_back("", tensor);
  return make_(unnamed);
}

std::vector<at::Tensor> OptimizerFactory::tensors_of(const NamedParameters& parameters) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(parameters.size());
  for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
  return tensors;
}

}  // namespace levin
