#pragma once

#include <string>

#include "callbacks/callback.h"
#include "callbacks/loggers/logger.h"
#include "trainer/config/class_table.h"
#include "trainer/config/schedule_keys.h"
#include "trainer/core/lightning_data_module.h"
#include "trainer/core/optimizers.h"

namespace levin {

class LightningModule;

/// The classes that YAML can name. Built-in ones stand in an explicit table (builtin_classes.cc); a program adds its
/// own at the start of main, before cli_main:
///
///   levin::register_module<Gpt>("Gpt");
struct Registry {
  ClassTable<LightningModule> modules{"model"};
  ClassTable<LightningDataModule> data_modules{"data module"};
  ClassTable<OptimizerFactory> optimizers{"optimizer"};
  ClassTable<ScheduleFactory> schedulers{"scheduler"};
  ClassTable<Callback> callbacks{"callback"};
  ClassTable<Logger> loggers{"logger"};
};

/// Adds what Levin brings.
void add_builtin_classes(Registry& registry);

/// The registry of this program, with the built-in classes in it. Register from one thread, before it is used.
Registry& program_registry();

/// Errors of all five: ConfigError if the name is taken.
template <class T>
void register_module(const std::string& name) {
  program_registry().modules.add<T>(name);
}
template <class T>
void register_data_module(const std::string& name) {
  program_registry().data_modules.add<T>(name);
}
template <class T>
void register_scheduler(const std::string& name) {
  add_schedule<T>(program_registry().schedulers, name);
}
template <class T>
void register_callback(const std::string& name) {
  program_registry().callbacks.add<T>(name);
}
template <class T>
void register_logger(const std::string& name) {
  program_registry().loggers.add<T>(name);
}

}  // namespace levin
