#include "trainer/config/config_value.h"

#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {

std::string ConfigLocation::to_string() const { return line > 0 ? fmt::format("{}:{}", source, line) : source; }

ConfigValue ConfigValue::of_scalar(std::string text, bool is_quoted) {
  ConfigValue value;
  value.kind = Kind::kScalar;
  value.scalar = std::move(text);
  value.is_quoted = is_quoted;
  return value;
}

ConfigValue ConfigValue::of_map() {
  ConfigValue value;
  value.kind = Kind::kMap;
  return value;
}

ConfigValue ConfigValue::of_list() {
  ConfigValue value;
  value.kind = Kind::kList;
  return value;
}

std::string ConfigValue::describe() const {
  switch (kind) {
    case Kind::kNull: return "nothing";
    case Kind::kScalar: return fmt::format("{}\"{}\"", is_quoted ? "the text " : "", scalar);
    case Kind::kList: return "a list";
    case Kind::kMap: return "a map";
  }
  return "";
}

const ConfigValue* ConfigValue::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

ConfigValue& ConfigValue::at_key(std::string_view key, const ConfigLocation& where) {
  if (is_null()) kind = Kind::kMap;
  for (Entry& entry : entries) {
    if (entry.key == key) return entry.value;
  }
  ConfigValue value;
  value.location = where;
  entries.push_back({.key = std::string(key), .location = where, .value = std::move(value)});
  return entries.back().value;
}

void merge_config(ConfigValue& base, const ConfigValue& over) {
  const ConfigValue* old_class = base.find("class");
  const ConfigValue* new_class = over.find("class");
  const bool is_other_class = old_class != nullptr && new_class != nullptr && old_class->scalar != new_class->scalar;
  if (!base.is_map() || !over.is_map() || is_other_class) {
    base = over;
    return;
  }
  for (const ConfigValue::Entry& entry : over.entries) {
    if (base.find(entry.key) == nullptr) {
      base.entries.push_back(entry);
    } else {
      merge_config(base.at_key(entry.key, entry.location), entry.value);
    }
  }
}

void set_by_path(ConfigValue& root, std::string_view dotted_path, const ConfigValue& value) {
  ConfigValue* node = &root;
  const ConfigLocation& where = value.location;
  size_t begin = 0;
  while (true) {
    if (!node->is_map() && !node->is_null()) {
      throw ConfigError(fmt::format("{}: \"{}\" is {}, so \"{}\" cannot be set below it.", where.to_string(),
                                    dotted_path.substr(0, begin > 0 ? begin - 1 : 0), node->describe(),
                                    dotted_path.substr(begin)));
    }
    const size_t dot = dotted_path.find('.', begin);
    ConfigValue& child = node->at_key(dotted_path.substr(begin, dot - begin), where);
    if (dot == std::string_view::npos) {
      merge_config(child, value);
      return;
    }
    node = &child;
    begin = dot + 1;
  }
}

}  // namespace levin
