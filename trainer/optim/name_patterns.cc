#include "trainer/optim/name_patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include "trainer/core/error.h"

namespace levin {

std::vector<bool> match_names(const std::string& owner, const std::string& key,
                              const std::vector<std::string>& patterns, const NamedParameters& parameters) {
  std::vector<bool> result(parameters.size(), false);
  for (const std::string& pattern : patterns) {
    bool is_used = false;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (::fnmatch(pattern.c_str(), parameters[i].first.c_str(), 0) != 0) continue;
      result[i] = true;
      is_used = true;
    }
    if (is_used) continue;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : parameters) names.push_back(name);
    throw ConfigError(fmt::format("[{}] {} must match the names of parameters, got \"{}\", which matches none of: {}.",
                                  owner, key, pattern, fmt::join(names, ", ")));
  }
  return result;
}

}  // namespace levin
