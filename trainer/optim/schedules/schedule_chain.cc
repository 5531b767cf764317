#include "trainer/optim/schedules/schedule_chain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "trainer/core/error.h"

namespace levin {

ScheduleChain::ScheduleChain(const std::string& owner, std::vector<std::shared_ptr<Schedule>> schedules)
    : schedules_(std::move(schedules)) {
  if (schedules_.empty()) throw ConfigError(fmt::format("[{}] schedulers must be given, got none.", owner));
  for (size_t i = 0; i < schedules_.size(); ++i) {
    if (schedules_[i] == nullptr) throw ConfigError(fmt::format("[{}] schedulers[{}] must not be nullptr.", owner, i));
  }
}

bool ScheduleChain::needs_metric() const {
  return std::any_of(schedules_.begin(), schedules_.end(),
                     [](const auto& schedule) { return schedule->needs_metric(); });
}

void ScheduleChain::observe(double metric) {
  for (const auto& schedule : schedules_) {
    if (schedule->needs_metric()) schedule->observe(metric);
  }
}

StateDict ScheduleChain::state() const {
  StateDict state;
  for (size_t i = 0; i < schedules_.size(); ++i) state.merge(fmt::format("{}.", i), schedules_[i]->state());
  return state;
}

void ScheduleChain::load_state(const StateDict& state) {
  for (size_t i = 0; i < schedules_.size(); ++i) schedules_[i]->load_state(state.under(fmt::format("{}.", i)));
}

SequentialLR::SequentialLR(std::vector<std::shared_ptr<Schedule>> schedules, std::vector<int64_t> milestones)
    : ScheduleChain("SequentialLR", std::move(schedules)), milestones_(std::move(milestones)) {
  const bool is_rising =
      std::adjacent_find(milestones_.begin(), milestones_.end(), std::greater_equal<>()) == milestones_.end();
  if (milestones_.size() + 1 != this->schedules().size() || !is_rising ||
      (!milestones_.empty() && milestones_.front() < 1)) {
    throw ConfigError(
        fmt::format("[SequentialLR] milestones must be rising steps > 0, one fewer than there are schedulers, got [{}] "
                    "for {} schedulers.",
                    fmt::join(milestones_, ", "), this->schedules().size()));
  }
}

size_t SequentialLR::active(int64_t step) const {
  return static_cast<size_t>(std::upper_bound(milestones_.begin(), milestones_.end(), step) - milestones_.begin());
}

double SequentialLR::learning_rate(double base_lr, int64_t step) const {
  const size_t index = active(step);
  return schedules()[index]->learning_rate(base_lr, step - start_of(index));
}

std::optional<double> SequentialLR::momentum(int64_t step) const {
  const size_t index = active(step);
  return schedules()[index]->momentum(step - start_of(index));
}

void SequentialLR::set_total_steps(std::optional<int64_t> total_steps) {
  for (size_t i = 0; i < milestones_.size(); ++i) schedules()[i]->set_total_steps(milestones_[i] - start_of(i));
  const size_t last = milestones_.size();
  // A run that ends before the last milestone never gets to the last schedule.
  if (total_steps) total_steps = std::max<int64_t>(*total_steps - start_of(last), 1);
  schedules()[last]->set_total_steps(total_steps);
}

ChainedScheduler::ChainedScheduler(std::vector<std::shared_ptr<Schedule>> schedules)
    : ScheduleChain("ChainedScheduler", std::move(schedules)) {}

double ChainedScheduler::learning_rate(double base_lr, int64_t step) const {
  for (const auto& schedule : schedules()) base_lr = schedule->learning_rate(base_lr, step);
  return base_lr;
}

std::optional<double> ChainedScheduler::momentum(int64_t step) const {
  std::optional<double> result = std::nullopt;
  for (const auto& schedule : schedules()) {
    if (const std::optional<double> value = schedule->momentum(step)) result = value;
  }
  return result;
}

void ChainedScheduler::set_total_steps(std::optional<int64_t> total_steps) {
  for (const auto& schedule : schedules()) schedule->set_total_steps(total_steps);
}

}  // namespace levin
