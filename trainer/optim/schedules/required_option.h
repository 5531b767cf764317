#pragma once

#include <fmt/format.h>

#include <optional>

#include "trainer/core/error.h"

namespace levin {

/// The value of an option without a default. Errors: ConfigError "[owner] key must be given.".
template <class T>
T required_option(const char* owner, const char* key, const std::optional<T>& value) {
  if (!value) throw ConfigError(fmt::format("[{}] {} must be given.", owner, key));
  return *value;
}

}  // namespace levin
