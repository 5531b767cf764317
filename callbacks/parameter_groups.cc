#include "callbacks/parameter_groups.h"

#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {

std::vector<ParameterGroup> parameter_groups(Optimizers& optimizers, std::string_view owner) {
  std::vector<ParameterGroup> groups;
  for (size_t i = 0; i < optimizers.size(); ++i) {
    auto& list = optimizers[i].param_groups();
    for (size_t j = 0; j < list.size(); ++j) {
      if (!list[j].has_options()) {
        throw ConfigError(fmt::format(
            "[{}] each parameter group must have options with a learning rate, got none for group {} of optimizer {}.",
            owner, j, i));
      }
      groups.push_back({static_cast<int64_t>(i), static_cast<int64_t>(j), &list[j].options()});
    }
  }
  return groups;
}

}  // namespace levin
