#include "trainer/core/option_visitor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

namespace levin {
namespace {

std::string to_yaml(bool value) { return value ? "true" : "false"; }
std::string to_yaml(int64_t value) { return fmt::format("{}", value); }
std::string to_yaml(uint64_t value) { return fmt::format("{}", value); }
// The shortest text that reads back as the same double.
std::string to_yaml(double value) { return fmt::format("{}", value); }
std::string to_yaml(const std::string& value) { return value; }
std::string to_yaml(const BatchLimit& value) { return value.to_string(); }
std::string to_yaml(const ValidationInterval& value) { return value.to_string(); }
std::string to_yaml(const MicroBatchSize& value) { return value.to_string(); }

template <class T>
std::string to_yaml(const std::optional<T>& value) {
  return value ? to_yaml(*value) : "null";
}

template <class T>
std::string to_yaml(const std::vector<T>& values) {
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const T& value : values) parts.push_back(to_yaml(value));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string to_yaml(const std::map<int64_t, int64_t>& values) {
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const auto& [key, value] : values) parts.push_back(fmt::format("{}: {}", key, value));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

bool allows(const OptionRule& rule, double value) {
  if (value != value) return !rule.minimum && !rule.maximum;
  if (rule.minimum && (rule.minimum_is_excluded ? value <= *rule.minimum : value < *rule.minimum)) return false;
  return !rule.maximum || value <= *rule.maximum;
}

template <class T>
bool allows_value(const OptionRule& rule, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return rule.choices.empty() || std::find(rule.choices.begin(), rule.choices.end(), value) != rule.choices.end();
  } else if constexpr (std::is_same_v<T, BatchLimit> || std::is_same_v<T, ValidationInterval> ||
                       std::is_same_v<T, MicroBatchSize>) {
    return value.is_valid();
  } else if constexpr (std::is_arithmetic_v<T>) {
    return allows(rule, static_cast<double>(value));
  }
}

template <class T>
bool allows_value(const OptionRule& rule, const std::optional<T>& value) {
  return !value || allows_value(rule, *value);
}

template <class T>
bool allows_value(const OptionRule& rule, const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(), [&](const T& value) { return allows_value(rule, value); });
}

bool allows_value(const OptionRule& rule, const std::map<int64_t, int64_t>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](const auto& entry) { return allows(rule, static_cast<double>(entry.second)); });
}

}  // namespace

std::string OptionRule::describe() const {
  if (!choices.empty()) return fmt::format("must be one of: {}", fmt::join(choices, ", "));
  if (minimum && maximum) return fmt::format("must be between {} and {}", *minimum, *maximum);
  if (minimum) return fmt::format("must be {} {}", minimum_is_excluded ? ">" : ">=", *minimum);
  if (maximum) return fmt::format("must be <= {}", *maximum);
  return "";
}

std::string option_to_string(const OptionTarget& target) {
  return std::visit([](const auto* value) { return to_yaml(*value); }, target);
}

std::string find_violation(const OptionTarget& target, const OptionRule& rule) {
  const bool allowed = std::visit([&](const auto* value) { return allows_value(rule, *value); }, target);
  if (allowed) return "";
  std::string expected = rule.describe();
  if (std::holds_alternative<BatchLimit*>(target)) {
    expected = "must be a number of batches >= 0, or a fraction between 0.0 and 1.0";
  } else if (std::holds_alternative<ValidationInterval*>(target)) {
    expected = "must be a number of batches >= 1, a fraction above 0.0 and at most 1.0, or a duration as \"30m\"";
  } else if (std::holds_alternative<MicroBatchSize*>(target)) {
    expected = "must be a number of samples >= 1, none or auto";
  }
  return fmt::format("{}, got {}", expected, option_to_string(target));
}

void OptionChecker::visit_field(std::string_view name, OptionTarget target, std::string_view /*help*/,
                                const OptionRule& rule) {
  const std::string violation = find_violation(target, rule);
  if (!violation.empty()) problems_.push_back(fmt::format("{} {}", name, violation));
}

}  // namespace levin
