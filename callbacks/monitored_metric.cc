#include "callbacks/monitored_metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "callbacks/rank_agreement.h"
#include "trainer/core/error.h"
#include "trainer/core/nearest_name.h"

namespace levin {

void MonitoredMetric::start_training() { validated_step_.reset(); }

void MonitoredMetric::start_validation(const RunContext& run) {
  was_there_before_ = run.metrics.find(name_).has_value();
}

MonitoredMetric::Observation MonitoredMetric::end_validation(const RunContext& run) {
  validated_step_ = run.state.global_step;
  const Observation seen = observe(run);
  if (seen.value && seen.is_of_stage) is_of_validation_ = true;
  return seen;
}

MonitoredMetric::Observation MonitoredMetric::observe(const RunContext& run) const {
  // found, value, of this stage
  std::array<double, 3> facts = {0.0, 0.0, 0.0};
  if (run.communicator.rank() == 0) {
    if (const auto value = run.metrics.find(name_)) {
      facts[0] = 1.0;
      facts[1] = *value;
    }
    const auto is_plain_name = [&](const Metrics::Entry& e) {
      return name_ == e.first || name_ == e.first + "_step" || name_ == e.first + "_epoch";
    };
    // A validation's values may be gone from the store by now; then the name is new in the run's metrics.
    const bool is_new = run.stage == Stage::kValidate && !was_there_before_;
    const Metrics logged = is_new ? Metrics() : run.store.latest(false);
    facts[2] = is_new || std::any_of(logged.begin(), logged.end(), is_plain_name) ? 1.0 : 0.0;
  }
  broadcast_from_rank_0(run.communicator, facts);
  return {.value = facts[0] > 0.0 ? std::optional(facts[1]) : std::nullopt, .is_of_stage = facts[2] > 0.0};
}

void MonitoredMetric::check_is_logged(const RunContext& run) const {
  if (run.has_validation && !validated_step_) return;
  if (!observe(run).value) throw_missing(run);
}

void MonitoredMetric::throw_missing(const RunContext& run) const {
  std::vector<std::string> names;
  for (const auto& [name, value] : run.metrics) names.push_back(name);
  const auto nearest = find_nearest_name(name_, names);
  throw ConfigError(fmt::format(
      "[{}] monitor is \"{}\", but no such metric was logged{} There are: {}. Log it, or set monitor to one of these.",
      owner_, name_, nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : ".",
      names.empty() ? "none" : run.metrics.names()));
}

}  // namespace levin
