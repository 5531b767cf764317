#pragma once

#include "trainer/core/data_loader.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/optimizers.h"
#include "trainer/fit_data.h"
#include "trainer/run.h"

namespace levin {

/// Where the batches of a fit come from: Run::data, or these loaders.
struct FitSource {
  DataLoader* train = nullptr;
  DataLoader* val = nullptr;
};

/// Tells a loader of the run that it serves.
void attach_loader(const Run& run, DataLoader& loader, Stage stage);

/// The optimizers with their schedules: of the run's parts, or else the module's own; the callbacks' hook for them has
/// been called. Errors: ConfigError.
Optimizers make_optimizers(Run& run, LightningModule& module);

/// The loaders, attached. Errors: ConfigError if there is no training loader.
FitData make_data(Run& run, const FitSource& source);

}  // namespace levin
