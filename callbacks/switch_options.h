#pragma once

#include <optional>
#include <string>

namespace levin {

/// A switch that may be left open. C++: true, false or std::nullopt; YAML: true, false or null.
struct OptionalSwitch {
  OptionalSwitch() = default;
  OptionalSwitch(bool is_on) : text(is_on ? "true" : "false") {}  // implicit on purpose, as the two below
  OptionalSwitch(std::nullopt_t) {}

  bool is_on() const { return text == "true"; }
  bool is_off() const { return text == "false"; }

  std::optional<std::string> text = std::nullopt;  ///< For OptionVisitor.
};

/// Whether the newest checkpoint is kept. C++: true, false or "link"; YAML alike.
struct SaveLast {
  SaveLast(bool is_on) : text(is_on ? "true" : "false") {}  // implicit on purpose, as the one below
  SaveLast(const char* choice) : text(choice) {}

  std::string text;  ///< For OptionVisitor.
};

}  // namespace levin
