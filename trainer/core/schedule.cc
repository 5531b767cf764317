#include "trainer/core/schedule.h"

#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {

void check_schedule(const ScheduleConfig& config) {
  if (config.frequency < 1) {
    throw ConfigError(fmt::format("[schedule] frequency must be >= 1, got {}.", config.frequency));
  }
  if (config.schedule != nullptr && config.schedule->needs_metric() && config.monitor.empty()) {
    throw ConfigError("[schedule] monitor must name the metric that the schedule observes, got none.");
  }
}

}  // namespace levin
