#pragma once

#include <string_view>

#include "trainer/core/metrics.h"

namespace levin {

/// Errors: ConfigError if a metric is called "step" or "epoch", which every row has. `owner` and `noun` are for the
/// text: "[CSVLogger] A metric is called "epoch", which is a column of its own."
void check_metric_names(const Metrics& metrics, std::string_view owner, std::string_view noun);

}  // namespace levin
