#include "callbacks/check_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/core/error.h"

namespace levin {

void throw_if_any(std::string_view owner, const std::vector<std::string>& problems) {
  if (!problems.empty()) throw ConfigError(fmt::format("[{}] {}.", owner, fmt::join(problems, "; ")));
}

}  // namespace levin
