#pragma once

#include <cstdint>
#include <filesystem>

#include "trainer/core/metrics.h"

namespace levin {

/// Where metrics go. Called on rank 0 only, from one thread.
class Logger {
 public:
  virtual ~Logger() = default;

  /// Called once, before the first row; run_dir exists. Errors: OutputError if the log cannot be written.
  virtual void open(const std::filesystem::path& run_dir) = 0;
  /// One row. `step` is the index of the last optimizer step done, from 0; `epoch` from 0.
  /// Errors: OutputError.
  virtual void log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) = 0;
  /// What has been logged so far survives a kill of the process after this returns. Errors: OutputError.
  virtual void flush() = 0;
};

}  // namespace levin
