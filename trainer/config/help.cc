#include "trainer/config/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/config/cli_arguments.h"
#include "trainer/core/trainer_options.h"
#include "trainer/tuner/tuner_options.h"

namespace levin {
namespace {

constexpr size_t kKeyWidth = 36;

/// One line for each option: key, default, meaning, and what is allowed.
class HelpWriter final : public OptionVisitor {
 public:
  HelpWriter(std::string prefix, std::string& text) : prefix_(std::move(prefix)), text_(text) {}
  bool is_empty() const { return is_empty_; }

 private:
  void visit_field(std::string_view name, OptionTarget target, std::string_view help, const OptionRule& rule) override {
    is_empty_ = false;
    const std::string key = fmt::format("{}{}: {}", prefix_, name, option_to_string(target));
    const std::string allowed = rule.describe();
    text_ += fmt::format("  {:<{}}  {}{}\n", key, kKeyWidth, help, allowed.empty() ? "" : " (" + allowed + ")");
  }

  std::string prefix_;
  std::string& text_;
  bool is_empty_ = true;
};

template <class Base>
void describe_classes(const std::string& section, const ClassTable<Base>& table, std::string& text) {
  for (const auto& entry : table.entries()) {
    text += fmt::format("\n{}: class: {}\n", section, entry.name);
    HelpWriter writer("", text);
    entry.prepare(writer);
    if (writer.is_empty()) text += "  (no options)\n";
  }
}

template <class Options>
void describe_search(const std::string& name, std::string& text) {
  text += fmt::format("\ntuner.{}: true, or a map of\n", name);
  Options options;
  HelpWriter writer("", text);
  options.visit(writer);
}

template <class Base>
std::string names_line(const char* what, const ClassTable<Base>& table) {
  const std::vector<std::string> names = table.names();
  return fmt::format("{:<12} {}\n", what, names.empty() ? "(none)" : fmt::format("{}", fmt::join(names, ", ")));
}

/// Remembers what one option may be.
class ChoiceFinder final : public OptionVisitor {
 public:
  explicit ChoiceFinder(std::string name) : name_(std::move(name)) {}
  const std::vector<std::string>& choices() const { return choices_; }

 private:
  void visit_field(std::string_view name, OptionTarget /*target*/, std::string_view /*help*/,
                   const OptionRule& rule) override {
    if (name == name_) choices_ = rule.choices;
  }

  std::string name_;
  std::vector<std::string> choices_;
};

std::string trainer_choices(const std::string& option) {
  TrainerOptions options;
  ChoiceFinder finder(option);
  options.visit(finder);
  return fmt::format("{:<12} {}\n", option, fmt::join(finder.choices(), ", "));
}

}  // namespace

std::string usage_text() {
  return fmt::format(
      "levin: train models from a YAML file\n\n"
      "Usage: levin COMMAND --config FILE [--config FILE2] [--KEY VALUE ...]\n"
      "       levin tokenize FILE... --output FILE [--tokenizer tokenizer.json]\n"
      "       levin report RUN... [--output FILE]\n\n"
      "Commands:\n"
      "  fit       train, with validation, and keep checkpoints\n"
      "  validate  measure on the validation data\n"
      "  test      measure on the test data\n"
      "  tune      search for the learning rate and the batch size\n"
      "  predict   write predictions to a file\n"
      "  tokenize  turn text files into a token file\n"
      "  report    draw the curves of one or several run folders in one HTML file\n"
      "  list      name the classes that a configuration can use\n"
      "  env       print what a bug report needs\n\n"
      "A dotted key overrides the file: --trainer.max_epochs 3. `levin fit --help` lists every key.\n\n{}",
      describe_cli_options());
}

std::string command_help(const Registry& registry) {
  std::string text = usage_text();
  text += "\nKeys of the configuration, with their defaults\n\n";
  text += fmt::format("  {:<{}}  drives weights, data order and dropout; null draws one and saves it\n", "seed: null",
                      kKeyWidth);
  text +=
      fmt::format("  {:<{}}  true (CSVLogger), false, or a class or list of classes\n\n", "logger: true", kKeyWidth);
  TrainerOptions options;
  HelpWriter writer("trainer.", text);
  options.visit(writer);
  describe_search<BatchSizeFinderOptions>("batch_size", text);
  describe_search<LearningRateFinderOptions>("learning_rate", text);
  describe_classes("model", registry.modules, text);
  describe_classes("data", registry.data_modules, text);
  describe_classes("optimizer", registry.optimizers, text);
  describe_classes("scheduler", registry.schedulers, text);
  describe_classes("callbacks", registry.callbacks, text);
  describe_classes("logger", registry.loggers, text);
  return text;
}

std::string report_help() {
  return "Usage: levin report RUN... [--output FILE]\n\n"
         "Draws the curves, the configuration and what else is known of a run in one HTML file that needs no network.\n"
         "RUN is a run folder, or the folder of an experiment for all its runs; several runs are overlaid.\n\n"
         "  -o [ --output ] FILE  the file to write; default: report.html in the run folder, or, for several runs, in\n"
         "                        the current folder\n";
}

std::string list_text(const Registry& registry) {
  std::string text;
  text += names_line("model", registry.modules);
  text += names_line("data", registry.data_modules);
  text += names_line("optimizer", registry.optimizers);
  text += names_line("scheduler", registry.schedulers);
  text += names_line("callbacks", registry.callbacks);
  text += names_line("logger", registry.loggers);
  for (const char* option : {"accelerator", "strategy", "precision"}) text += trainer_choices(option);
  return text;
}

}  // namespace levin
