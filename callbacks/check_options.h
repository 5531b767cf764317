#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer/core/option_visitor.h"

namespace levin {

/// Does nothing if there are no problems. Errors: ConfigError "[owner] problem; problem." otherwise.
void throw_if_any(std::string_view owner, const std::vector<std::string>& problems);

/// Checks every field of an options struct against its rule. Errors: ConfigError, which names all that are wrong.
template <class Options>
void check_options(std::string_view owner, Options options) {
  OptionChecker checker;
  options.visit(checker);
  throw_if_any(owner, checker.problems());
}

}  // namespace levin
