#pragma once

#include "trainer/config/config_value.h"
#include "trainer/config/option_reader.h"
#include "trainer/tuner/tuner_options.h"

namespace levin {

/// Reads the section `tuner`, with `batch_size` and `learning_rate` in it: a map of options, true for their defaults,
/// or false or null for no such search. What is wrong becomes a problem.
TunerOptions read_tuner(const ConfigValue& section, ConfigProblems& problems);

/// The section that reads back as these options.
ConfigValue write_tuner(TunerOptions options);

}  // namespace levin
