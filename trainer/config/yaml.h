#pragma once

#include <filesystem>
#include <string>

#include "trainer/config/config_value.h"

namespace levin {

/// Reads a YAML file. Errors: ConfigError if it is missing, is no YAML (with the line), has several documents, nests
/// lists and maps deeper than 100 levels, or has a key twice in one map (with both lines; every such key is listed).
ConfigValue load_yaml(const std::filesystem::path& path);

/// Reads YAML text; `source` names it in locations, `has_lines` tells whether line numbers mean something to the user.
ConfigValue parse_yaml(const std::string& text, const std::string& source, bool has_lines = true);

/// The value as YAML text that reads back as the same value.
std::string to_yaml(const ConfigValue& value);

}  // namespace levin
