#include "trainer/config/run_config.h"

#include <fmt/format.h>

#include <sstream>

#include "trainer/config/class_section.h"
#include "trainer/config/effective_config.h"
#include "trainer/config/option_reader.h"
#include "trainer/config/option_writer.h"
#include "trainer/config/tuner_section.h"
#include "trainer/config/yaml.h"
#include "trainer/core/random.h"

namespace levin {
namespace {

/// The keys of the root. Only `seed` is a field; the others are sections.
struct RootOptions {
  std::optional<uint64_t> seed = std::nullopt;
  void visit(OptionVisitor& visitor) { visitor.field("seed", seed, "drives weights, data order and dropout"); }
};

class SectionReader {
 public:
  SectionReader(const ConfigValue& root, ConfigProblems& problems) : root_(root), problems_(problems) {}

  void read_trainer(TrainerOptions& options) {
    static const ConfigValue empty;
    const ConfigValue* section = root_.find("trainer");
    OptionReader reader(section != nullptr ? *section : empty, "trainer", problems_);
    options.visit(reader);
    reader.finish();
    if (!problems_.empty()) return;
    for (const std::string& problem : find_problems(options)) add_trainer_problem(problem, section);
  }

  template <class Base>
  void require_class(const std::string& key, const ClassTable<Base>& table, PreparedClass<Base>& prepared) {
    const ConfigValue* section = root_.find(key);
    if (section == nullptr || section->is_null()) {
      // A section that is not there is in no line.
      problems_.add(section != nullptr ? section->location : ConfigLocation{.source = root_.location.source},
                    fmt::format("the section \"{}\" is missing: name a class in it", key));
    } else if (auto read = read_class(*section, key, table, problems_)) {
      prepared = *std::move(read);
    }
  }

  template <class Base>
  std::optional<PreparedClass<Base>> optional_class(const std::string& key, const ClassTable<Base>& table) {
    const ConfigValue* section = root_.find(key);
    if (section == nullptr || section->is_null()) return std::nullopt;
    return read_class(*section, key, table, problems_);
  }

  /// One class, or a list of them.
  template <class Base>
  std::vector<PreparedClass<Base>> class_list(const std::string& key, const ClassTable<Base>& table) {
    std::vector<PreparedClass<Base>> result;
    const ConfigValue* section = root_.find(key);
    if (section == nullptr || section->is_null()) return result;
    if (!section->is_list()) {
      if (auto read = read_class(*section, key, table, problems_)) result.push_back(*std::move(read));
      return result;
    }
    for (size_t i = 0; i < section->items.size(); ++i) {
      if (auto read = read_class(section->items[i], fmt::format("{}[{}]", key, i), table, problems_)) {
        result.push_back(*std::move(read));
      }
    }
    return result;
  }

 private:
  /// A problem of options together, placed where the first option that it names is set.
  void add_trainer_problem(const std::string& problem, const ConfigValue* section) {
    ConfigLocation where = section != nullptr ? section->location : ConfigLocation{.source = root_.location.source};
    std::istringstream words(problem);
    const ConfigValue* named = nullptr;
    for (std::string word; named == nullptr && section != nullptr && words >> word;) named = section->find(word);
    if (named != nullptr && !named->location.source.empty()) where = named->location;
    problems_.add(where, "trainer: " + problem);
  }

  const ConfigValue& root_;
  ConfigProblems& problems_;
};

bool read_logger_switch(const ConfigValue& root, ConfigProblems& problems) {
  const ConfigValue* section = root.find("logger");
  if (section == nullptr || !section->is_scalar()) return true;
  if (section->scalar == "true") return true;
  if (section->scalar == "false") return false;
  problems.add(section->location,
               fmt::format("logger must be true, false, or name classes: \"logger: {{class: CSVLogger}}\", got {}",
                           section->describe()));
  return true;
}

template <class Base>
ConfigValue write_classes(const std::vector<PreparedClass<Base>>& classes) {
  ConfigValue list = ConfigValue::of_list();
  for (const auto& prepared : classes) list.items.push_back(write_class(prepared));
  return list;
}

std::string write_run_config(const RunConfig& config) {
  ConfigValue root = trainer_config(config.trainer, *config.trainer.seed);
  root.at_key("model", {}) = write_class(config.model);
  root.at_key("data", {}) = write_class(config.data);
  if (config.optimizer) root.at_key("optimizer", {}) = write_class(*config.optimizer);
  if (config.scheduler) root.at_key("scheduler", {}) = config.scheduler->yaml;
  if (config.tuner.batch_size || config.tuner.learning_rate) root.at_key("tuner", {}) = write_tuner(config.tuner);
  if (!config.callbacks.empty()) root.at_key("callbacks", {}) = write_classes(config.callbacks);
  if (!config.loggers.empty()) root.at_key("logger", {}) = write_classes(config.loggers);
  return to_yaml(root);
}

}  // namespace

RunConfig read_run_config(const ConfigValue& root, const Registry& registry) {
  ConfigProblems problems;
  RunConfig config;
  RootOptions root_options;
  OptionReader root_reader(root, "", problems,
                           {"trainer", "model", "data", "optimizer", "scheduler", "tuner", "callbacks", "logger"});
  root_options.visit(root_reader);
  root_reader.finish();

  SectionReader reader(root, problems);
  reader.read_trainer(config.trainer);
  reader.require_class("model", registry.modules, config.model);
  reader.require_class("data", registry.data_modules, config.data);
  config.optimizer = reader.optional_class("optimizer", registry.optimizers);
  const ConfigValue* scheduler = root.find("scheduler");
  if (scheduler != nullptr && !scheduler->is_null()) {
    config.scheduler = read_scheduler(*scheduler, "scheduler", registry.schedulers, problems);
  }
  const ConfigValue* tuner = root.find("tuner");
  if (tuner != nullptr && !tuner->is_null()) config.tuner = read_tuner(*tuner, problems);
  config.callbacks = reader.class_list("callbacks", registry.callbacks);
  config.trainer.logger = read_logger_switch(root, problems);
  const ConfigValue* logger = root.find("logger");
  if (logger != nullptr && !logger->is_scalar()) config.loggers = reader.class_list("logger", registry.loggers);
  problems.throw_if_any();

  config.trainer.seed = root_options.seed.value_or(random_seed());
  config.yaml = write_run_config(config);
  return config;
}

}  // namespace levin
