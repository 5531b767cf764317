#include "trainer/core/metrics.h"

#include <algorithm>

namespace levin {

void Metrics::set(std::string_view name, double value) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.first == name; });
  if (entry == entries_.end()) {
    entries_.emplace_back(name, value);
  } else {
    entry->second = value;
  }
}

void Metrics::set_all(const Metrics& other) {
  for (const auto& [name, value] : other) set(name, value);
}

std::optional<double> Metrics::find(std::string_view name) const {
  for (const auto& [entry_name, value] : entries_) {
    if (entry_name == name) return value;
  }
  return std::nullopt;
}

std::string Metrics::names() const {
  std::string result;
  for (const auto& [name, value] : entries_) result += (result.empty() ? "" : ", ") + name;
  return result;
}

}  // namespace levin
