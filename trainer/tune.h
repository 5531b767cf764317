#pragma once

#include "trainer/core/lightning_module.h"
#include "trainer/core/optimizers.h"
#include "trainer/fit_parts.h"
#include "trainer/run.h"
#include "trainer/tuner/tuner_options.h"

namespace levin {

/// The searches that `options` asks for, by trial trainings that leave no trace. What is found goes into the run's
/// report; a batch size is also set on the data module and noted in the run. Between setup and teardown. Errors:
/// ConfigError where a search is not possible; ModelError if no batch size fits; what a fit throws.
TunerResult tune(Run& run, LightningModule& module, const FitSource& source, const TunerOptions& options);

/// Makes `rate` the learning rate of the first parameter group, and keeps the proportions between the groups.
/// Errors: ConfigError if there is not exactly one optimizer, or it has no learning rate.
void set_learning_rate(Optimizers& optimizers, double rate);

/// Trainer::tune: setup, the searches, the report, teardown.
TunerResult run_tune(Run& run, LightningModule& module, const FitSource& source, const TunerOptions& options);

}  // namespace levin
