#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// A command line, taken apart.
struct CliArguments {
  std::string command = {};             ///< Empty if there is none.
  std::vector<std::string> paths = {};  ///< Words behind the command that belong to no option: the runs of a report.
  std::vector<std::string> config_files = {};
  /// Dotted key and its value as YAML text, in order: {"trainer.max_epochs", "3"}.
  std::vector<std::pair<std::string, std::string>> overrides = {};
  std::optional<std::string> checkpoint = std::nullopt;
  std::optional<std::string> resume = std::nullopt;
  std::optional<std::string> output = std::nullopt;
  std::string text = {};  ///< All of it, as typed; filled in by the program.
  bool is_help = false;
  bool is_version = false;
};

/// arguments: without the program's name. Errors: ConfigError for an unknown option or a missing value.
CliArguments parse_cli_arguments(const std::vector<std::string>& arguments);

/// The options that are not keys of the configuration, as --help shows them.
std::string describe_cli_options();

}  // namespace levin
