#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace levin {

/// Where a value of the configuration stands: a line of a file, or an option of the command line.
struct ConfigLocation {
  std::string source = {};
  int line = 0;  ///< From 1; 0: the source has no lines.

  /// "gpt.yaml:12", or the source alone.
  std::string to_string() const;
};

/// A configuration as it was written, before anybody has looked at types: null, a scalar's text, a list, or a map in
/// the order of the file. Each value knows where it stands.
struct ConfigValue {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  std::string scalar = {};
  bool is_quoted = false;  ///< The scalar stood in quotes, so it is a text whatever it looks like.
  std::vector<ConfigValue> items = {};
  std::vector<Entry> entries;  // no initialiser: Entry is incomplete here
  ConfigLocation location = {};

  static ConfigValue of_scalar(std::string text, bool is_quoted = false);
  static ConfigValue of_map();
  static ConfigValue of_list();

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
  /// "a list", "a map", "nothing", or the scalar in quotes: "3", and the text "3" if it stood in quotes.
  std::string describe() const;

  /// The value of a key of a map; nullptr if this is not a map or has no such key.
  const ConfigValue* find(std::string_view key) const;
  /// The value of a key of a map, made (null) where it is missing. A null value becomes a map first.
  ConfigValue& at_key(std::string_view key, const ConfigLocation& where);
};

struct ConfigValue::Entry {
  std::string key;
  ConfigLocation location;
  ConfigValue value;
};

/// Lays `over` on `base`: maps are merged key by key, anything else is replaced. A section that names another `class`
/// replaces the section whole, since its options belong to that class.
void merge_config(ConfigValue& base, const ConfigValue& over);

/// Sets the value at a dotted path, "trainer.max_epochs", making maps on the way.
/// Errors: ConfigError if a part of the path is there and is not a map.
void set_by_path(ConfigValue& root, std::string_view dotted_path, const ConfigValue& value);

}  // namespace levin
