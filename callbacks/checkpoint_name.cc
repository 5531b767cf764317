#include "callbacks/checkpoint_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace levin {
namespace {

template <class T>
std::string format_with(std::string_view spec, const T& value) {
  return fmt::format(fmt::runtime(fmt::format("{{{}{}}}", spec.empty() ? "" : ":", spec)), value);
}

std::string format_field(std::string_view field, int64_t epoch, int64_t step, const Metrics& metrics,
                         bool inserts_names) {
  const size_t colon = field.find(':');
  std::string name(field.substr(0, colon));
  const std::string_view spec = colon == std::string_view::npos ? "" : field.substr(colon + 1);
  std::string value;
  if (name == "epoch" || name == "step") {
    value = format_with(spec, name == "epoch" ? epoch : step);
  } else {
    value = format_with(spec, metrics.find(name).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  if (!inserts_names) return value;
  std::replace(name.begin(), name.end(), '/', '_');
  return name + "=" + value;
}

}  // namespace

std::string format_checkpoint_name(std::string_view pattern, int64_t epoch, int64_t step, const Metrics& metrics,
                                   bool inserts_names) {
  std::string result;
  while (!pattern.empty()) {
    const size_t open = pattern.find('{');
    result += pattern.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = pattern.find('}', open);
    if (close == std::string_view::npos) break;
    result += format_field(pattern.substr(open + 1, close - open - 1), epoch, step, metrics, inserts_names);
    pattern.remove_prefix(close + 1);
  }
  return result;
}

std::string find_pattern_problem(std::string_view pattern, bool inserts_names) {
  bool is_open = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '{' && is_open) return "has a { within a field";
    if (c == '}' && !is_open) return "has a } without a {";
    if (c == '{' && pattern.find_first_of(":}", i + 1) == i + 1) return "has a field without a name";
    if (c == '/' && !is_open) return "must be a folder name without /";
    is_open = c == '{' || (is_open && c != '}');
  }
  if (is_open) return "has a { without a }";
  try {
    const std::string name = format_checkpoint_name(pattern, 0, 0, {}, inserts_names);
    if (name.empty() || name.front() == '.') return "must not be empty or begin with a dot";
    if (name == "last" || name == "best") return "must not be \"last\" or \"best\", which are links";
    if (name.find('/') != std::string::npos) return "must be a folder name without /";
  } catch (const fmt::format_error& error) {
    return fmt::format("has a form that fmt does not know ({})", error.what());
  }
  return "";
}

}  // namespace levin
