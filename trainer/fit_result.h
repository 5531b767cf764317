#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trainer/core/metrics.h"

namespace levin {

/// How a fit ended. A fit that failed throws instead.
enum class FitStatus {
  kFinished,      ///< A limit (max_epochs, max_steps, max_time) was reached.
  kStoppedEarly,  ///< A callback asked for the end.
  kInterrupted,   ///< SIGINT; the checkpoint "interrupted" holds where it stood.
  kTerminated,    ///< SIGTERM; likewise.
};

/// What fit() returns.
struct FitResult {
  FitStatus status = FitStatus::kFinished;
  int64_t num_epochs = 0;              ///< Epochs done, over all fits of this Trainer.
  int64_t num_steps = 0;               ///< Optimizer steps done, likewise.
  Metrics metrics = {};                ///< Newest value of everything that was logged.
  std::filesystem::path run_dir = {};  ///< Empty if the run kept no files.
  int64_t micro_batch_size = 0;        ///< What micro_batch_size "auto" has found; 0: whole batches fit.
  std::string profile = {};            ///< What the profiler of TrainerOptions::profiler found, as text.
};

}  // namespace levin
