#pragma once

#include "trainer/config/config_value.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Writes the fields of an options struct into a map, defaults included.
class OptionWriter final : public OptionVisitor {
 public:
  explicit OptionWriter(ConfigValue& map) : map_(map) {}

 private:
  void visit_field(std::string_view name, OptionTarget target, std::string_view help, const OptionRule& rule) override;

  ConfigValue& map_;
};

/// A scalar that reads back as this text: quoted where it could be taken for a number, a truth value or null.
ConfigValue text_value(const std::string& text);

}  // namespace levin
