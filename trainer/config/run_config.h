#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/config/config_value.h"
#include "trainer/config/registry.h"
#include "trainer/config/scheduler_section.h"
#include "trainer/core/trainer_options.h"
#include "trainer/tuner/tuner_options.h"

namespace levin {

/// A whole experiment, read and checked: every section is known, every class is there, every option has an allowed
/// value. Nothing has been made yet.
struct RunConfig {
  TrainerOptions trainer;  ///< seed is set
  PreparedClass<LightningModule> model;
  PreparedClass<LightningDataModule> data;
  std::optional<PreparedClass<OptimizerFactory>> optimizer;
  std::optional<PreparedScheduler> scheduler;
  TunerOptions tuner;
  std::vector<PreparedClass<Callback>> callbacks;
  std::vector<PreparedClass<Logger>> loggers;
  /// The effective configuration, defaults filled in: running it again gives the same weights.
  std::string yaml;
};

/// Reads the sections seed, trainer, model, data, optimizer, scheduler, tuner, callbacks and logger. Without a seed,
/// one is drawn. Errors: ConfigError that lists everything that is wrong, one line each: "<file>:<line>: <key> ...".
RunConfig read_run_config(const ConfigValue& root, const Registry& registry);

}  // namespace levin
