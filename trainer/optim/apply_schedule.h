#pragma once

#include <cstdint>
#include <vector>

#include "trainer/core/optimizers.h"

namespace levin {

/// Gives each parameter group the schedule's learning rate (and momentum, where it has one) at `step`.
/// base_learning_rates: one for each group, see Optimizers::base_learning_rates.
/// Errors: ConfigError if the groups have no learning rate or are not as many, or if the schedule has a momentum and
/// the optimizer has none.
void apply_schedule(Optimizer& optimizer, const Schedule& schedule, const std::vector<double>& base_learning_rates,
                    int64_t step);

}  // namespace levin
