#pragma once

#include <string>
#include <vector>

#include "trainer/core/optimizers.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/name_patterns.h"

namespace levin {

/// The parameter groups that an optimizer of Levin makes of a module's parameters: one, or Muon's two.
template <class O>
std::vector<torch::optim::OptimizerParamGroup> parameter_groups(const NamedParameters& parameters,
                                                                const typename O::Options& options) {
  if constexpr (std::is_same_v<O, Muon>) {
    return Muon::groups_of(parameters, options);
  } else {
    std::vector<at::Tensor> tensors;
    for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(std::move(tensors), std::make_unique<GroupOptions<typename O::Options>>(options));
    return groups;
  }
}

/// The optimizer O for a module's parameters. Those whose name matches a pattern of no_decay ("*.bias") get a group of
/// their own without weight decay. Errors: ConfigError if an option is wrong or a pattern matches no name.
template <class O>
std::unique_ptr<O> make_optimizer(const NamedParameters& parameters, typename O::Options options,
                                  const std::vector<std::string>& no_decay = {}) {
  const std::vector<bool> matches = match_names("optimizer", "no_decay", no_decay, parameters);
  NamedParameters decayed, others;
  for (size_t i = 0; i < parameters.size(); ++i) (matches[i] ? others : decayed).push_back(parameters[i]);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  if (!decayed.empty() || others.empty()) groups = parameter_groups<O>(decayed, options);
  if (!others.empty()) {
    typename O::Options without = options;
    without.weight_decay = 0.0;
    if constexpr (requires { without.adamw_weight_decay; }) without.adamw_weight_decay = 0.0;
    for (auto& group : parameter_groups<O>(others, without)) groups.push_back(std::move(group));
  }
  return std::make_unique<O>(groups, options);
}

}  // namespace levin
