#pragma once

#include <cstdint>
#include <string>

#include "trainer/config/config_value.h"
#include "trainer/core/trainer_options.h"

namespace levin {

/// `seed:` and `trainer:` (and `logger: false` where it is off) with every default filled in.
ConfigValue trainer_config(TrainerOptions options, uint64_t seed);

/// The same as YAML text: config.yaml of a run whose model and data are made in C++.
std::string effective_config(const TrainerOptions& options, uint64_t seed);

}  // namespace levin
