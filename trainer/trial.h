#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "callbacks/callback.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/optimizers.h"
#include "trainer/fit_parts.h"
#include "trainer/run.h"

namespace levin {

/// A short training that leaves no trace: of the run's callbacks and loggers none take part, nothing is saved, and all
/// that it changes is put back.
struct TrialPlan {
  int64_t max_steps = 1;
  std::shared_ptr<Callback> observer = nullptr;  ///< Its only callback, if any.
  bool has_schedules = true;                     ///< false: learning rates stay as the optimizers were made with.
  bool may_split = true;  ///< false: without automatic micro-batching, so that a batch that is too large fails.
};

struct TrialResult {
  bool is_out_of_memory = false;
  int signal = 0;  ///< SIGINT or SIGTERM, if it ended the trial.
  double seconds = 0.0;
  int64_t num_samples = 0;
  int64_t num_steps = 0;
  std::optional<int64_t> num_batches = std::nullopt;  ///< Of an epoch, where that is known.
};

/// Errors: what a fit throws, but for memory that runs out.
TrialResult run_trial(Run& run, LightningModule& module, const FitSource& source, const TrialPlan& plan);

}  // namespace levin
