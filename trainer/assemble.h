#pragma once

#include "trainer/core/trainer_options.h"
#include "trainer/trainer_parts.h"

namespace levin {

/// Errors: ConfigError that lists everything that is wrong with the options and the parts.
void check_parts(const TrainerOptions& options, const TrainerParts& parts);

/// Turns names in the options into objects where `parts` has none, and adds the default callbacks and logger. The only
/// place where the names of strategies and precisions are compared. Afterwards strategy and precision are set.
/// options: checked, after resolve_shorthands(); of a fast_dev_run and of a bare run, loggers and ModelCheckpoints are
/// left out. Errors: ConfigError that names a device that is not there.
TrainerParts assemble(const TrainerOptions& options, TrainerParts parts);

}  // namespace levin
