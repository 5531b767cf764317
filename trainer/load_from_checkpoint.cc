#include "trainer/load_from_checkpoint.h"

#include <fmt/format.h>

#include "trainer/config/yaml.h"
#include "trainer/core/error.h"
#include "trainer/core/module_state.h"

namespace levin::internal {

StateDict hyperparameters_of_config(const ConfigValue& map) {
  StateDict state;
  for (const auto& entry : map.entries) {
    std::string text = to_yaml(entry.value);
    if (text.ends_with('\n')) text.pop_back();
    state.set(entry.key, std::move(text));
  }
  return state;
}

ConfigValue config_of_hyperparameters(const StateDict& hyperparameters, const std::filesystem::path& folder) {
  if (hyperparameters.empty()) {
    throw CheckpointError(fmt::format(
        "[load_from_checkpoint] {} keeps no hyper-parameters. Override LightningModule::hyperparameters() "
        "with to_hyperparameters(options), or make the model yourself and pass the folder to validate, test "
        "or predict.",
        folder.string()));
  }
  ConfigValue map = ConfigValue::of_map();
  for (const auto& [name, value] : hyperparameters) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
      throw CheckpointError(
          fmt::format("[load_from_checkpoint] {}: the hyper-parameter \"{}\" was not saved by to_hyperparameters().",
                      folder.string(), name));
    }
    map.at_key(name, {}) = parse_yaml(*text, folder.string(), /*has_lines=*/false);
  }
  return map;
}

void load_into(LightningModule& model, const Checkpoint& checkpoint, const std::filesystem::path& folder) {
  try {
    model.configure_model();
    load_module_state(model, checkpoint.model);
    model.on_load_checkpoint(checkpoint.run.under("module_extra."));
  } catch (const CheckpointError& error) {
    throw CheckpointError(fmt::format("[load_from_checkpoint] {}: {}", folder.string(), error.what()));
  }
}

}  // namespace levin::internal
