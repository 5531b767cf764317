#include "trainer/core/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace levin {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Levenshtein's distance, upper and lower case being the same.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> find_nearest_name(std::string_view name, const std::vector<std::string>& names) {
  if (names.empty()) return std::nullopt;
  const auto distance = [&](const std::string& candidate) { return edit_distance(name, candidate); };
  const auto nearest = std::min_element(names.begin(), names.end(),
                                        [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  return distance(*nearest) <= std::max<size_t>(2, name.size() / 3) ? std::optional(*nearest) : std::nullopt;
}

std::string suggest_name(std::string_view name, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  if (const auto nearest = find_nearest_name(name, names)) return fmt::format("; did you mean \"{}\"?", *nearest);
  return fmt::format("; known: {}", fmt::join(names, ", "));
}

}  // namespace levin
