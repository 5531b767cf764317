#pragma once

#include <string>
#include <vector>

#include "trainer/core/optimizers.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/name_patterns.h"

namespace levin {

/// The optimizer O for a module's parameters. Those whose name matches a pattern of no_decay ("*.bias") get a group of
/// their own without weight decay. Errors: ConfigError if an option is wrong or a pattern matches no name.
template <class O>
std::unique_ptr<O> make_optimizer(const NamedParameters& parameters, const typename O::Options& options,
                                  const std::vector<std::string>& no_decay = {}) {
  if constexpr (std::is_same_v<O, Muon>) {
    return std::make_unique<Muon>(Muon::groups_of(parameters, options, no_decay), options);
  } else {
    using Group = torch::optim::OptimizerParamGroup;
    const std::vector<bool> matches = match_names("optimizer", "no_decay", no_decay, parameters);
    std::vector<at::Tensor> decayed, others;
    for (size_t i = 0; i < parameters.size(); ++i) (matches[i] ? others : decayed).push_back(parameters[i].second);
    typename O::Options without_decay = options;
    without_decay.weight_decay = 0.0;
    std::vector<Group> groups;
    if (!decayed.empty() || others.empty()) groups.emplace_back(decayed);
    if (!others.empty()) {
      groups.emplace_back(others, std::make_unique<GroupOptions<typename O::Options>>(without_decay));
    }
    return std::make_unique<O>(groups, options);
  }
}

}  // namespace levin
