#pragma once

#include <optional>

#include "trainer/tuner/batch_size_finder.h"
#include "trainer/tuner/learning_rate_finder.h"

namespace levin {

/// What is searched before the training. The batch size comes first, since the learning rate depends on it.
struct TunerOptions {
  std::optional<BatchSizeFinderOptions> batch_size = std::nullopt;
  std::optional<LearningRateFinderOptions> learning_rate = std::nullopt;
};

/// What was found of it.
struct TunerResult {
  std::optional<BatchSizeFinderResult> batch_size = std::nullopt;
  std::optional<LearningRateFinderResult> learning_rate = std::nullopt;
  /// SIGINT or SIGTERM, if it ended the search; 0 if not.
  int signal = 0;
};

}  // namespace levin
