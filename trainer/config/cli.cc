#include "trainer/config/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "callbacks/console.h"
#include "callbacks/prediction_file.h"
#include "trainer/config/cli_arguments.h"
#include "trainer/config/environment_report.h"
#include "trainer/config/help.h"
#include "trainer/config/run_config.h"
#include "trainer/config/tokenize_arguments.h"
#include "trainer/config/tokenize_command.h"
#include "trainer/config/yaml.h"
#include "trainer/core/error.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/nearest_name.h"
#include "trainer/core/version.h"
#include "trainer/find_checkpoint.h"
#include "trainer/report/write_report.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongConfiguration = 2;
// As a shell reports a process that a signal ended: 128 + its number.
constexpr int kInterrupted = 130;
constexpr int kTerminated = 143;

/// What a command works with, made from the configuration in the order that makes runs reproducible: the Trainer seeds
/// LibTorch, then the model draws its weights.
struct Session {
  std::unique_ptr<Trainer> trainer;
  std::shared_ptr<LightningModule> model;
  std::shared_ptr<LightningDataModule> data;
};

RunConfig load_config(const CliArguments& arguments) {
  if (arguments.config_files.empty()) {
    throw ConfigError(fmt::format("{} needs a configuration: --config FILE.", arguments.command));
  }
  ConfigValue root;
  for (const std::string& file : arguments.config_files) {
    ConfigValue value = load_yaml(file);
    if (!value.is_map())
      throw ConfigError(fmt::format("{}: a configuration must be a map, got {}.", file, value.describe()));
    root.is_null() ? void(root = std::move(value)) : merge_config(root, value);
  }
  for (const auto& [key, text] : arguments.overrides) {
    set_by_path(root, key, parse_yaml(text, "option --" + key, /*has_lines=*/false));
  }
  // Runs of configs/gpt.yaml are kept in runs/gpt, unless it says otherwise.
  const ConfigValue* trainer = root.find("trainer");
  if (trainer == nullptr || trainer->find("experiment_name") == nullptr) {
    const std::filesystem::path first_file = arguments.config_files.front();
    if (trainer == nullptr || trainer->is_map() || trainer->is_null()) {
      set_by_path(root, "trainer.experiment_name", ConfigValue::of_scalar(first_file.stem().string()));
    }
  }
  return read_run_config(root, program_registry());
}

Session make_session(const RunConfig& config, const std::string& command_line) {
  TrainerParts parts;
  parts.command_line = command_line;
  for (const auto& callback : config.callbacks) parts.callbacks.push_back(callback.make());
  for (const auto& logger : config.loggers) parts.loggers.push_back(logger.make());
  if (config.optimizer) parts.optimizer = *config.optimizer->make();
  if (config.scheduler) parts.scheduler = config.scheduler->make;
  parts.tuner = config.tuner;
  parts.config_yaml = config.yaml;
  Session session;
  session.trainer = std::make_unique<Trainer>(config.trainer, std::move(parts));
  session.model = config.model.make();
  session.data = config.data.make();
  return session;
}

void print_metrics(const Metrics& metrics) {
  // A NaN's sign says nothing.
  for (const auto& [name, value] : metrics)
    fmt::print("{:<24} {:.6g}\n", name, std::isnan(value) ? std::abs(value) : value);
}

void print_run_dir(const Trainer& trainer) {
  if (!trainer.run_dir().empty()) fmt::print("run folder               {}\n", trainer.run_dir().string());
}

std::filesystem::path choose_checkpoint(const CliArguments& arguments, const RunConfig& config) {
  auto path = find_checkpoint(arguments.checkpoint.value_or("best"), config.trainer.default_root_dir,
                              config.trainer.experiment_name);
  fmt::print("checkpoint               {}\n", path.string());
  return path;
}

int run_fit(const CliArguments& arguments, const RunConfig& config) {
  Session session = make_session(config, arguments.text);
  const FitResult result = session.trainer->fit(*session.model, *session.data, arguments.resume.value_or(""));
  if (result.micro_batch_size > 0) fmt::print("micro-batch size         {}\n", result.micro_batch_size);
  if (!result.profile.empty()) fmt::print("{}\n", result.profile);
  print_metrics(result.metrics);
  print_run_dir(*session.trainer);
  if (result.status != FitStatus::kInterrupted && result.status != FitStatus::kTerminated) return kDone;
  const bool is_interrupt = result.status == FitStatus::kInterrupted;
  std::fflush(stdout);
  fmt::print(stderr, "levin: ended by {} after {} optimizer steps.{}\n", is_interrupt ? "SIGINT" : "SIGTERM",
             result.num_steps, result.run_dir.empty() ? "" : " Go on with --resume last.");
  return is_interrupt ? kInterrupted : kTerminated;
}

void print_findings(const TunerResult& found, const Trainer& trainer) {
  if (found.batch_size) fmt::print("batch size               {}\n", found.batch_size->batch_size);
  if (found.learning_rate) {
    const std::optional<double>& rate = found.learning_rate->suggestion;
    fmt::print("learning rate            {}\n",
               rate ? fmt::format("{:.4g}", *rate) : "no suggestion: the loss does not fall clearly at any rate tried");
  }
  print_run_dir(trainer);
  const std::filesystem::path report = trainer.run_dir() / "report.html";
  if (std::filesystem::exists(report)) fmt::print("report                   {}\n", report.string());
}

/// Without a section `tuner`, the learning rate is searched.
int run_tune(const CliArguments& arguments, const RunConfig& config) {
  Session session = make_session(config, arguments.text);
  TunerOptions options = config.tuner;
  if (!options.batch_size && !options.learning_rate) options.learning_rate.emplace();
  const TunerResult found = session.trainer->tune(*session.model, *session.data, options);
  if (found.signal != 0) {
    fmt::print(stderr, "levin: the search was ended by {}.\n", found.signal == SIGINT ? "SIGINT" : "SIGTERM");
    return found.signal == SIGINT ? kInterrupted : kTerminated;
  }
  print_findings(found, *session.trainer);
  return kDone;
}

void run_evaluation(const CliArguments& arguments, const RunConfig& config) {
  const auto checkpoint = choose_checkpoint(arguments, config);
  Session session = make_session(config, arguments.text);
  print_metrics(arguments.command == "test" ? session.trainer->test(*session.model, *session.data, checkpoint)
                                            : session.trainer->validate(*session.model, *session.data, checkpoint));
  print_run_dir(*session.trainer);
}

void run_predict(const CliArguments& arguments, const RunConfig& config) {
  if (arguments.output) check_prediction_file(*arguments.output);
  const auto checkpoint = choose_checkpoint(arguments, config);
  Session session = make_session(config, arguments.text);
  const bool is_written =
      std::any_of(config.callbacks.begin(), config.callbacks.end(),
                  [](const PreparedClass<Callback>& callback) { return callback.name == "PredictionWriter"; });
  // A PredictionWriter need not have them in memory.
  const bool is_asked_for = arguments.output || !is_written;
  const std::vector<Batch> predictions =
      session.trainer->predict(*session.model, *session.data, checkpoint, is_asked_for);
  if (!is_asked_for) return print_run_dir(*session.trainer);
  std::filesystem::path file = arguments.output.value_or("predictions.safetensors");
  if (!arguments.output && !session.trainer->run_dir().empty()) file = session.trainer->run_dir() / file;
  write_predictions(file, predictions);
  fmt::print("predictions              {}\n", file.string());
}

void run_report(const CliArguments& arguments) {
  const auto file = write_report({arguments.paths.begin(), arguments.paths.end()}, arguments.output);
  fmt::print("report                   {}\n", file.string());
}

int run_tokenize(const std::vector<std::string>& words) {
  const TokenizeArguments arguments = parse_tokenize_arguments(words);
  if (arguments.is_help) {
    fmt::print("{}", tokenize_help());
    return kDone;
  }
  const TokenizeResult result = tokenize_to_file(arguments, *stderr_console());
  if (result.signal != 0) {
    const bool is_interrupt = result.signal == SIGINT;
    fmt::print(stderr, "levin: ended by {}; {} was not written.\n", is_interrupt ? "SIGINT" : "SIGTERM",
               arguments.output);
    return is_interrupt ? kInterrupted : kTerminated;
  }
  fmt::print("documents                {}\n", result.done.num_documents);
  fmt::print("tokens                   {} of {}\n", result.done.num_tokens, result.type);
  fmt::print("token file               {}\n", arguments.output);
  return kDone;
}

void check_options(const CliArguments& arguments) {
  const std::string& command = arguments.command;
  if (command == "tokenize") throw ConfigError("tokenize comes first: levin tokenize FILE... --output FILE.");
  if (arguments.checkpoint && command != "validate" && command != "test" && command != "predict") {
    throw ConfigError(fmt::format("--checkpoint is for validate, test and predict, not for {}.", command));
  }
  if (arguments.resume && command != "fit") {
    throw ConfigError(fmt::format("--resume is for fit, not for {}.", command));
  }
  if (arguments.output && command != "predict" && command != "report") {
    throw ConfigError(fmt::format("--output is for predict and report, not for {}.", command));
  }
  if (!arguments.paths.empty() && command != "report") {
    throw ConfigError(fmt::format("{} takes options only, got \"{}\". A configuration is given with --config FILE.",
                                  command, arguments.paths.front()));
  }
  if (command == "report" && !(arguments.config_files.empty() && arguments.overrides.empty())) {
    throw ConfigError("report takes run folders and --output FILE, no configuration.");
  }
}

int run_command(const CliArguments& arguments) {
  static const std::vector<std::string> commands = {"fit",      "validate", "test", "tune", "predict",
                                                    "tokenize", "report",   "list", "env"};
  const std::string& command = arguments.command;
  if (arguments.is_version) {
    fmt::print("levin {}\n", kVersion);
    return kDone;
  }
  if (arguments.is_help || command.empty()) {
    fmt::print("{}", command.empty()         ? usage_text()
                     : command == "report"   ? report_help()
                     : command == "tokenize" ? tokenize_help()
                                             : command_help(program_registry()));
    return arguments.is_help ? kDone : kWrongConfiguration;
  }
  if (std::find(commands.begin(), commands.end(), command) == commands.end()) {
    throw ConfigError(fmt::format("there is no command \"{}\"{}", command, suggest_name(command, commands)));
  }
  check_options(arguments);
  if (command == "list") {
    fmt::print("{}", list_text(program_registry()));
  } else if (command == "env") {
    fmt::print("{}", environment_report());
  } else if (command == "report") {
    run_report(arguments);
  } else {
    const RunConfig config = load_config(arguments);
    if (command == "fit") return run_fit(arguments, config);
    if (command == "tune") return run_tune(arguments, config);
    if (command == "validate" || command == "test") run_evaluation(arguments, config);
    if (command == "predict") run_predict(arguments, config);
  }
  return kDone;
}

int report(const char* text, int exit_code) {
  std::fflush(stdout);
  fmt::print(stderr, "levin: {}\n", text);
  return exit_code;
}

}  // namespace

int cli_main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    // It has options of its own.
    if (!words.empty() && words.front() == "tokenize") return run_tokenize({words.begin() + 1, words.end()});
    CliArguments arguments = parse_cli_arguments(words);
    arguments.text = fmt::format("levin {}", fmt::join(words, " "));
    return run_command(arguments);
  } catch (const ConfigError& error) {
    return report(error.what(), kWrongConfiguration);
  } catch (const std::exception& error) {
    return report(error.what(), kFailed);
  }
}

}  // namespace levin
