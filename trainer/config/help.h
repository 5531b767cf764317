#pragma once

#include <string>

#include "trainer/config/registry.h"

namespace levin {

/// Usage and commands.
std::string usage_text();
/// Usage, and every key of the configuration with its default and what it allows.
std::string command_help(const Registry& registry);
/// What `levin report` takes and does.
std::string report_help();
/// The names that the configuration may use, by section.
std::string list_text(const Registry& registry);

}  // namespace levin
