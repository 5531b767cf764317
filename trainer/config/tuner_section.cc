#include "trainer/config/tuner_section.h"

#include <fmt/format.h>

#include <string>

#include "trainer/config/option_writer.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr char kPath[] = "tuner";

/// Finder: checks in its constructor what no single option can say.
template <class Finder, class Options>
std::optional<Options> read_search(const ConfigValue& section, const std::string& key, ConfigProblems& problems) {
  const ConfigValue* value = section.find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (value->is_scalar()) {
    if (value->scalar == "true") return Options();
    if (value->scalar != "false") {
      problems.add(value->location,
                   fmt::format("{}.{} must be true, false or a map of options, got {}", kPath, key, value->describe()));
    }
    return std::nullopt;
  }
  Options options;
  OptionReader reader(*value, fmt::format("{}.{}", kPath, key), problems);
  options.visit(reader);
  reader.finish();
  if (!problems.empty()) return std::nullopt;
  try {
    const Finder check(options);
  } catch (const ConfigError& error) {
    problems.add(value->location, error.what());
  }
  return options;
}

template <class Options>
void write_search(ConfigValue& section, const std::string& key, std::optional<Options>& options) {
  if (!options) return;
  OptionWriter writer(section.at_key(key, {}));
  options->visit(writer);
}

}  // namespace

TunerOptions read_tuner(const ConfigValue& section, ConfigProblems& problems) {
  OptionReader keys(section, kPath, problems, {"batch_size", "learning_rate"});
  keys.finish();
  return {
      .batch_size = read_search<BatchSizeFinder, BatchSizeFinderOptions>(section, "batch_size", problems),
      .learning_rate = read_search<LearningRateFinder, LearningRateFinderOptions>(section, "learning_rate", problems)};
}

ConfigValue write_tuner(TunerOptions options) {
  ConfigValue section = ConfigValue::of_map();
  write_search(section, "batch_size", options.batch_size);
  write_search(section, "learning_rate", options.learning_rate);
  return section;
}

}  // namespace levin
