#include "trainer/config/option_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>

namespace levin {
namespace {

bool looks_like_another_type(const std::string& text) {
  static constexpr std::array<std::string_view, 8> kWords = {"", "null", "~", "true", "false", "True", "False", ".inf"};
  if (std::find(kWords.begin(), kWords.end(), text) != kWords.end()) return true;
  double number = 0.0;
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), end, number).ptr == end;
}

template <class T>
ConfigValue scalar_value(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return text_value(value);
  } else {
    T copy = value;
    return ConfigValue::of_scalar(option_to_string(OptionTarget(&copy)));
  }
}

template <class T>
ConfigValue to_config(const T& value) {
  return scalar_value(value);
}

template <class T>
ConfigValue to_config(const std::optional<T>& value) {
  return value ? scalar_value(*value) : ConfigValue();
}

template <class T>
ConfigValue to_config(const std::vector<T>& values) {
  ConfigValue list = ConfigValue::of_list();
  for (const T& value : values) list.items.push_back(scalar_value(value));
  return list;
}

ConfigValue to_config(const std::map<int64_t, int64_t>& values) {
  ConfigValue map = ConfigValue::of_map();
  for (const auto& [key, value] : values) map.at_key(std::to_string(key), {}) = scalar_value(value);
  return map;
}

}  // namespace

ConfigValue text_value(const std::string& text) { return ConfigValue::of_scalar(text, looks_like_another_type(text)); }

void OptionWriter::visit_field(std::string_view name, OptionTarget target, std::string_view /*help*/,
                               const OptionRule& /*rule*/) {
  map_.at_key(name, {}) = std::visit([](const auto* value) { return to_config(*value); }, target);
}

}  // namespace levin
