#pragma once

#include <optional>
#include <string>

#include "trainer/config/class_table.h"
#include "trainer/config/config_value.h"
#include "trainer/config/option_reader.h"
#include "trainer/core/schedule.h"

namespace levin {

/// The section `scheduler:`, read and checked.
struct PreparedScheduler {
  ScheduleFactory make;
  ConfigValue yaml;  ///< The section with every option filled in.
};

/// Reads a schedule, or a chain of schedules: SequentialLR or ChainedScheduler with a list `schedulers:`, each item a
/// schedule or a chain. Only the outermost section says how it is driven (interval, frequency, monitor, strict).
/// nullopt: something is wrong. What is wrong becomes problems; nothing is thrown.
std::optional<PreparedScheduler> read_scheduler(const ConfigValue& section, const std::string& path,
                                                const ClassTable<ScheduleFactory>& table, ConfigProblems& problems);

/// Adds the chains to the table, for lists and help; read_scheduler makes them.
void add_schedule_chains(ClassTable<ScheduleFactory>& table);

}  // namespace levin
