#pragma once

#include <string>
#include <vector>

#include "trainer/config/config_value.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// What is wrong with a configuration, all of it.
class ConfigProblems {
 public:
  /// "<location>: <text>".
  void add(const ConfigLocation& where, const std::string& text);
  bool empty() const { return problems_.empty(); }
  /// Errors: ConfigError with one line a problem, if there is any.
  void throw_if_any() const;

 private:
  std::vector<std::string> problems_;
};

/// Reads the fields of an options struct from a section of the configuration. Fields that the section does not name
/// keep their defaults. Wrong types, forbidden values and unknown keys become problems; nothing is thrown.
class OptionReader final : public OptionVisitor {
 public:
  /// path: of the section, for texts ("trainer"; "" for the root). ignored: keys that are not options, such as "class".
  OptionReader(const ConfigValue& section, std::string path, ConfigProblems& problems,
               std::vector<std::string> ignored = {});

  /// Reports the keys that no field has asked for. Call it after visit().
  void finish();

 private:
  void visit_field(std::string_view name, OptionTarget target, std::string_view help, const OptionRule& rule) override;
  std::string full_name(std::string_view key) const;

  const ConfigValue& section_;
  std::string path_;
  ConfigProblems& problems_;
  std::vector<std::string> ignored_;
  std::vector<std::string> known_;
};

}  // namespace levin
