#pragma once

#include "trainer/core/trainer_options.h"
#include "trainer/trainer_parts.h"

namespace levin {

/// Turns names in the options into objects where `parts` has none, and adds the default callbacks and logger. The only
/// place where the names of strategies and precisions are compared. Afterwards strategy and precision are set. Errors:
/// ConfigError that lists everything that is wrong with the options, or names a device that is not there.
TrainerParts assemble(const TrainerOptions& options, TrainerParts parts);

}  // namespace levin
