#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "trainer/core/state_dict.h"

namespace levin {

/// A learning-rate schedule: a pure function of the step, so that a resumed run needs only the number of steps done.
///
/// The step counts from 0 and is (optimizer steps done / frequency) or (epochs done / frequency), see ScheduleConfig;
/// the rate of step n is the one that optimizer step n uses. Call from one thread.
class Schedule {
 public:
  virtual ~Schedule() = default;

  /// The learning rate at `step` (>= 0) of a parameter group whose own learning rate is base_lr.
  virtual double learning_rate(double base_lr, int64_t step) const = 0;
  /// The momentum (SGD, RMSprop) or beta1 (Adam and its kin) at `step`; nullopt: the optimizer keeps its own.
  virtual std::optional<double> momentum(int64_t /*step*/) const { return std::nullopt; }

  /// Called once before training with the length of the run in the schedule's own steps, nullopt if the run has no
  /// limit. A schedule whose length is not configured takes it.
  /// Errors: ConfigError if the schedule needs a length and there is none.
  virtual void set_total_steps(std::optional<int64_t> /*total_steps*/) {}

  /// True if observe() is to be called with the monitored metric each time a step of the schedule is done.
  virtual bool needs_metric() const { return false; }
  virtual void observe(double /*metric*/) {}

  /// What observe() has learnt. Empty for a pure function of the step.
  virtual StateDict state() const { return {}; }
  /// Errors: CheckpointError if an entry is missing or of another type; the schedule is then as it was.
  virtual void load_state(const StateDict& /*state*/) {}
};

/// What a step of a schedule is: an optimizer step or an epoch.
enum class ScheduleInterval { kStep, kEpoch };

/// A schedule and how it is driven:
///
///   ScheduleConfig{.schedule = std::make_shared<StepLR>(options), .interval = ScheduleInterval::kEpoch}
struct ScheduleConfig {
  std::shared_ptr<Schedule> schedule = nullptr;  ///< nullptr: the learning rate stays as it is.
  ScheduleInterval interval = ScheduleInterval::kStep;
  int64_t frequency = 1;     ///< Intervals that make one step of the schedule, >= 1.
  std::string monitor = {};  ///< The metric that a schedule with needs_metric() observes.
  bool strict = true;        ///< A missing metric is an error; false: the schedule then observes nothing.
};

/// Errors: ConfigError if frequency is < 1, or there is no monitor and the schedule needs one.
void check_schedule(const ScheduleConfig& config);

/// Makes a new schedule for each optimizer. Used where YAML or the Trainer's parts name it instead of the module.
using ScheduleFactory = std::function<ScheduleConfig()>;

}  // namespace levin
