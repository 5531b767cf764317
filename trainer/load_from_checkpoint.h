#pragma once

#include <concepts>
#include <filesystem>
#include <memory>
#include <type_traits>

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/config/config_value.h"
#include "trainer/config/option_reader.h"
#include "trainer/config/option_writer.h"
#include "trainer/core/lightning_module.h"

namespace levin {

template <class Model>
concept HasOptions = requires(typename Model::Options options, OptionVisitor& visitor) {
  options.visit(visitor);
  Model(options);
};

/// What LightningModule::hyperparameters() returns for a model that is made of an options struct:
///
///   levin::StateDict hyperparameters() const override { return levin::to_hyperparameters(options_); }
template <class Options>
StateDict to_hyperparameters(Options options);

/// Makes a model of a checkpoint folder: from its hyper-parameters, with its weights (on the CPU, in the model's own
/// dtype) and what on_load_checkpoint puts back. Model has one of these constructors: of const StateDict&, the
/// hyper-parameters as hyperparameters() gave them; of its Options, see to_hyperparameters(); or none with arguments.
///
///   const auto model = levin::load_from_checkpoint<Gpt>("runs/gpt/version_0/checkpoints/best");
///
/// Errors: CheckpointError if the checkpoint is missing, damaged, keeps no hyper-parameters although Model needs them,
/// or does not fit the model; ConfigError if Model refuses a value.
template <std::derived_from<LightningModule> Model>
std::shared_ptr<Model> load_from_checkpoint(const std::filesystem::path& folder);

// --- implementation

namespace internal {

StateDict hyperparameters_of_config(const ConfigValue& map);
ConfigValue config_of_hyperparameters(const StateDict& hyperparameters, const std::filesystem::path& folder);
void load_into(LightningModule& model, const Checkpoint& checkpoint, const std::filesystem::path& folder);

template <class Options>
Options read_options(const StateDict& hyperparameters, const std::filesystem::path& folder) {
  const ConfigValue section = config_of_hyperparameters(hyperparameters, folder);
  ConfigProblems problems;
  Options options;
  OptionReader reader(section, "hyperparameters", problems);
  options.visit(reader);
  reader.finish();
  problems.throw_if_any();
  return options;
}

}  // namespace internal

template <class Options>
StateDict to_hyperparameters(Options options) {
  ConfigValue map = ConfigValue::of_map();
  OptionWriter writer(map);
  options.visit(writer);
  return internal::hyperparameters_of_config(map);
}

template <std::derived_from<LightningModule> Model>
std::shared_ptr<Model> load_from_checkpoint(const std::filesystem::path& folder) {
  const Checkpoint checkpoint = load_checkpoint(folder);
  const StateDict hyperparameters = checkpoint.run.under("hyperparameters.");
  std::shared_ptr<Model> model;
  if constexpr (std::is_constructible_v<Model, const StateDict&>) {
    model = std::make_shared<Model>(hyperparameters);
  } else if constexpr (HasOptions<Model>) {
    model = std::make_shared<Model>(internal::read_options<typename Model::Options>(hyperparameters, folder));
  } else {
    model = std::make_shared<Model>();
  }
  internal::load_into(*model, checkpoint, folder);
  return model;
}

}  // namespace levin
