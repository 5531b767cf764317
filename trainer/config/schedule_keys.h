#pragma once

#include <memory>
#include <string>
#include <utility>

#include "trainer/config/class_table.h"
#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"

namespace levin {

/// How a schedule is driven: the keys that every class under `scheduler:` has beside its options.
struct ScheduleKeys {
  std::string interval = "step";
  int64_t frequency = 1;
  std::string monitor = {};
  bool strict = true;

  void visit(OptionVisitor& visitor) {
    visitor.field("interval", interval, "what a step of the schedule is", one_of({"step", "epoch"}));
    visitor.field("frequency", frequency, "intervals that make one step of the schedule", at_least(1));
    visitor.field("monitor", monitor, "metric to observe, for ReduceLROnPlateau");
    visitor.field("strict", strict, "a missing metric is an error");
  }
  ScheduleConfig drive(std::shared_ptr<Schedule> schedule) const {
    return {.schedule = std::move(schedule),
            .interval = interval == "epoch" ? ScheduleInterval::kEpoch : ScheduleInterval::kStep,
            .frequency = frequency,
            .monitor = monitor,
            .strict = strict};
  }
};

/// The options of schedule S (its nested Options, or none) and the keys above. S may say
/// `static constexpr ScheduleInterval kDefaultInterval`.
template <class S>
struct ScheduleSection {
  struct NoOptions {
    void visit(OptionVisitor& /*visitor*/) {}
  };
  static auto default_options() {
    if constexpr (requires { typename S::Options; }) {
      return typename S::Options();
    } else {
      return NoOptions();
    }
  }

  decltype(default_options()) options = default_options();
  ScheduleKeys keys = default_keys();

  void visit(OptionVisitor& visitor) {
    options.visit(visitor);
    keys.visit(visitor);
  }
  ScheduleConfig make() const {
    if constexpr (requires { typename S::Options; }) {
      return keys.drive(std::make_shared<S>(options));
    } else {
      return keys.drive(std::make_shared<S>());
    }
  }

 private:
  static ScheduleKeys default_keys() {
    ScheduleKeys keys;
    if constexpr (requires { S::kDefaultInterval; }) {
      if (S::kDefaultInterval == ScheduleInterval::kEpoch) keys.interval = "epoch";
    }
    return keys;
  }
};

/// Errors: ConfigError if the name is taken.
template <class S>
void add_schedule(ClassTable<ScheduleFactory>& table, const std::string& name) {
  table.add_with_options<ScheduleSection<S>>(name, [](const ScheduleSection<S>& section) {
    return std::make_shared<ScheduleFactory>([section] { return section.make(); });
  });
}

}  // namespace levin
