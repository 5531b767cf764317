#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/core/optimizers.h"

namespace levin {

/// One parameter group of a run's optimizers.
struct ParameterGroup {
  int64_t optimizer;  ///< Index in Optimizers.
  int64_t group;      ///< Index in the optimizer.
  torch::optim::OptimizerOptions* options;
};

/// All groups in order. `owner`: who asks, for errors. Errors: ConfigError if a group has no options.
std::vector<ParameterGroup> parameter_groups(Optimizers& optimizers, std::string_view owner);

}  // namespace levin
