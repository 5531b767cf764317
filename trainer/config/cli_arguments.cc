#include "trainer/config/cli_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <sstream>

#include "trainer/core/error.h"

namespace levin {
namespace {

namespace po = boost::program_options;

po::options_description make_options() {
  po::options_description options("Options");
  options.add_options()  //
      ("config,c", po::value<std::vector<std::string>>()->composing(),
       "YAML file; later files override earlier ones")  //
      ("checkpoint", po::value<std::string>(),
       "validate, test, predict: a checkpoint folder, or \"best\" (default) or \"last\" of the newest run")  //
      ("resume", po::value<std::string>(),
       "fit: go on from \"last\", the newest checkpoint; \"auto\", the same or anew if there is none; \"best\"; or a "
       "checkpoint folder")                                                                                          //
      ("output,o", po::value<std::string>(), "predict: file to write, .safetensors or .csv; report: file to write")  //
      ("help,h", "show every key with its default")                                                                  //
      ("version", "show the version");
  return options;
}

bool is_config_key(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kSections = {
      "seed", "trainer", "model", "data", "optimizer", "scheduler", "tuner", "callbacks", "logger"};
  return name.find('.') != std::string_view::npos ||
         std::find(kSections.begin(), kSections.end(), name) != kSections.end();
}

/// Takes `--trainer.max_epochs 3` and `--trainer.max_epochs=3` out; what is left is for Boost.
std::vector<std::string> take_overrides(const std::vector<std::string>& arguments, CliArguments& result) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.starts_with("--") ? argument.substr(2, equals - 2) : "";
    if (!is_config_key(name)) {
      rest.push_back(argument);
    } else if (equals != std::string::npos) {
      result.overrides.emplace_back(name, argument.substr(equals + 1));
    } else if (i + 1 < arguments.size() && !arguments[i + 1].starts_with("--")) {
      result.overrides.emplace_back(name, arguments[++i]);
    } else {
      throw ConfigError(fmt::format("the option --{} needs a value.", name));
    }
  }
  return rest;
}

std::optional<std::string> text_of(const po::variables_map& values, const char* name) {
  return values.count(name) > 0 ? std::optional(values[name].as<std::string>()) : std::nullopt;
}

}  // namespace

CliArguments parse_cli_arguments(const std::vector<std::string>& arguments) {
  CliArguments result;
  po::options_description options = make_options();
  options.add_options()("command", po::value<std::string>())("path", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("command", 1).add("path", -1);
  po::variables_map values;
  try {
    const std::vector<std::string> rest = take_overrides(arguments, result);
    po::store(po::command_line_parser(rest).options(options).positional(positional).run(), values);
  } catch (const po::error& error) {
    throw ConfigError(fmt::format("{}. See levin --help.", error.what()));
  }
  result.command = text_of(values, "command").value_or("");
  result.checkpoint = text_of(values, "checkpoint");
  result.resume = text_of(values, "resume");
  result.output = text_of(values, "output");
  result.is_help = values.count("help") > 0;
  result.is_version = values.count("version") > 0;
  if (values.count("path") > 0) result.paths = values["path"].as<std::vector<std::string>>();
  if (values.count("config") > 0) result.config_files = values["config"].as<std::vector<std::string>>();
  return result;
}

std::string describe_cli_options() {
  std::ostringstream text;
  text << make_options();
  return text.str();
}

}  // namespace levin
