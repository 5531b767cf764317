#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// "; did you mean \"max_epochs\"?" if one of `names` is close to `name`, else "; known: a, b, c" (or nothing to know).
std::string suggest_name(std::string_view name, const std::vector<std::string>& names);

}  // namespace levin
