#include "trainer/config/effective_config.h"

#include <fmt/format.h>

#include "trainer/config/option_writer.h"
#include "trainer/config/yaml.h"

namespace levin {

ConfigValue trainer_config(TrainerOptions options, uint64_t seed) {
  ConfigValue root = ConfigValue::of_map();
  root.at_key("seed", {}) = ConfigValue::of_scalar(fmt::format("{}", seed));
  OptionWriter writer(root.at_key("trainer", {}));
  options.visit(writer);
  if (!options.logger) root.at_key("logger", {}) = ConfigValue::of_scalar("false");
  return root;
}

std::string effective_config(const TrainerOptions& options, uint64_t seed) {
  return to_yaml(trainer_config(options, seed));
}

}  // namespace levin
