#pragma once

#include <optional>

namespace levin {

/// How the values of one epoch become one.
enum class Reduce { kMean, kSum, kMin, kMax };

/// How a value is logged. The defaults depend on the stage: training logs each step, evaluation the whole epoch. A
/// ScalarMetric is logged for the epoch in every stage and takes prog_bar and logger only.
struct LogOptions {
  /// Log the value of the step. Default: true in training_step, else false.
  std::optional<bool> on_step = std::nullopt;
  /// Log the reduction over the epoch. Default: false in training_step, else true. With both, the names are
  /// "<name>_step" and "<name>_epoch".
  std::optional<bool> on_epoch = std::nullopt;
  Reduce reduce = Reduce::kMean;
  /// Show the value in the progress bar.
  bool prog_bar = false;
  /// Hand the value to the loggers. Callbacks see it in any case.
  bool logger = true;
  /// The weight of the value in an epoch mean, for example a number of tokens; finite, at least 0. Default: the batch
  /// size.
  std::optional<double> weight = std::nullopt;
};

}  // namespace levin
