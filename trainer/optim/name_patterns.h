#pragma once

#include <string>
#include <vector>

#include "trainer/core/optimizers.h"

namespace levin {

/// Which parameters have a name that one of the patterns matches. In a pattern `*` is any text, dots included, and `?`
/// any character: "*.bias", "*norm*".
/// Errors: ConfigError "[owner] key ..." if a pattern matches no name, with the names.
std::vector<bool> match_names(const std::string& owner, const std::string& key,
                              const std::vector<std::string>& patterns, const NamedParameters& parameters);

}  // namespace levin
