#pragma once

#include <string>

#include "trainer/core/lightning_module.h"
#include "trainer/fit_parts.h"
#include "trainer/fit_result.h"
#include "trainer/run.h"

namespace levin {

/// A whole fit, from setup to teardown. See Trainer::fit.
FitResult run_fit(Run& run, LightningModule& module, const FitSource& source, const std::string& resume);

}  // namespace levin
