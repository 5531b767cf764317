#pragma once

#include <string>

#include "trainer/core/data_loader.h"
#include "trainer/core/lightning_data_module.h"
#include "trainer/core/lightning_module.h"
#include "trainer/fit_result.h"
#include "trainer/run.h"

namespace levin {

/// Where the batches of a fit come from: Run::data, or these loaders.
struct FitSource {
  DataLoader* train = nullptr;
  DataLoader* val = nullptr;
};

/// A whole fit, from setup to teardown. See Trainer::fit.
FitResult run_fit(Run& run, LightningModule& module, const FitSource& source, const std::string& resume);

/// Tells a loader of the run that it serves.
void attach_loader(const Run& run, DataLoader& loader);

}  // namespace levin
