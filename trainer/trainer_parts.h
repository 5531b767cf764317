#pragma once

#include <memory>
#include <string>
#include <vector>

#include "callbacks/callback.h"
#include "callbacks/loggers/logger.h"
#include "strategies/strategy.h"
#include "trainer/core/optimizers.h"
#include "trainer/core/profiler.h"
#include "trainer/precision/precision.h"
#include "trainer/tuner/tuner_options.h"

namespace levin {

/// Objects that the user brings to a Trainer. They win over what the options name.
struct TrainerParts {
  std::shared_ptr<Strategy> strategy = nullptr;
  std::shared_ptr<Precision> precision = nullptr;
  std::vector<std::shared_ptr<Callback>> callbacks = {};
  std::vector<std::shared_ptr<Logger>> loggers = {};
  /// Makes the optimizer instead of LightningModule::configure_optimizers.
  OptimizerFactory optimizer = nullptr;
  /// Makes the schedule of that optimizer. Only with `optimizer`.
  ScheduleFactory scheduler = nullptr;
  /// What fit() searches before it trains with it; not where it is resumed, nor in a fast_dev_run.
  TunerOptions tuner = {};
  /// Told where the time goes, beside the one that TrainerOptions::profiler names.
  std::shared_ptr<Profiler> profiler = nullptr;
  /// Shown in the report.
  std::string command_line = {};
  /// What is saved as config.yaml in the run folder. Default: the options.
  std::string config_yaml = {};
};

}  // namespace levin
