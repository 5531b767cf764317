#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// The name of `names` that is most like `name`, if one is close enough to be meant.
std::optional<std::string> find_nearest_name(std::string_view name, const std::vector<std::string>& names);

/// "; did you mean \"max_epochs\"?" if one of `names` is close to `name`, else "; known: a, b, c" (or nothing to know).
std::string suggest_name(std::string_view name, const std::vector<std::string>& names);

}  // namespace levin
