#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "trainer/config/class_table.h"
#include "trainer/config/option_reader.h"
#include "trainer/config/option_writer.h"
#include "trainer/core/nearest_name.h"

namespace levin {

inline constexpr const char* kClassKey = "class";

/// Reads a section that names a class of the table: "class: AdamW" with its options, or the name alone. nullopt: it
/// names none. What is wrong becomes problems; nothing is thrown. path: of the section, for texts.
template <class Base>
std::optional<PreparedClass<Base>> read_class(const ConfigValue& section, const std::string& path,
                                              const ClassTable<Base>& table, ConfigProblems& problems) {
  const ConfigValue* name = section.is_map() ? section.find(kClassKey) : &section;
  if (name == nullptr || !name->is_scalar()) {
    problems.add(section.location, fmt::format("{} must name a class: \"class: {}\"", path,
                                               table.entries().empty() ? "Name" : table.entries().front().name));
    return std::nullopt;
  }
  const auto* entry = table.find(name->scalar);
  if (entry == nullptr) {
    const std::string hint =
        table.entries().empty() ? "; none is registered" : suggest_name(name->scalar, table.names());
    problems.add(name->location,
                 fmt::format("{}: there is no {} called \"{}\"{}", path, table.what(), name->scalar, hint));
    return std::nullopt;
  }
  static const ConfigValue no_options;
  OptionReader reader(section.is_map() ? section : no_options, path, problems, {kClassKey});
  PreparedClass<Base> prepared = entry->prepare(reader);
  reader.finish();
  return prepared;
}

/// The section with every option filled in.
template <class Base>
ConfigValue write_class(const PreparedClass<Base>& prepared) {
  ConfigValue map = ConfigValue::of_map();
  map.at_key(kClassKey, {}) = text_value(prepared.name);
  OptionWriter writer(map);
  prepared.visit_options(writer);
  return map;
}

}  // namespace levin
