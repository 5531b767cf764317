#include "callbacks/loggers/metric_names.h"

#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {

void check_metric_names(const Metrics& metrics, std::string_view owner, std::string_view noun) {
  for (const auto& [name, value] : metrics) {
    if (name != "step" && name != "epoch") continue;
    throw ConfigError(fmt::format(
        "[{}] A metric is called \"{}\", which is a {} of its own. Log it under another name.", owner, name, noun));
  }
}

}  // namespace levin
