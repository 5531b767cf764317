#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/core/schedule.h"

namespace levin {

/// Several schedules in one; SequentialLR and ChainedScheduler say how. Metrics go to each, states under "0.", "1.",
/// ...
class ScheduleChain : public Schedule {
 public:
  bool needs_metric() const override;
  void observe(double metric) override;
  StateDict state() const override;
  /// Errors: CheckpointError.
  void load_state(const StateDict& state) override;

 protected:
  /// Errors: ConfigError "[owner] ..." if there is no schedule, or one is nullptr.
  ScheduleChain(const std::string& owner, std::vector<std::shared_ptr<Schedule>> schedules);

  const std::vector<std::shared_ptr<Schedule>>& schedules() const { return schedules_; }

 private:
  std::vector<std::shared_ptr<Schedule>> schedules_;
};

/// One schedule after the other: schedule i takes over at milestones[i - 1] and counts its steps from there. In YAML:
///
///   scheduler:
///     class: SequentialLR
///     milestones: [100]
///     schedulers:
///       - {class: LinearLR, total_iters: 100}
///       - {class: CosineAnnealingLR}
class SequentialLR final : public ScheduleChain {
 public:
  /// milestones: rising steps > 0, one fewer than there are schedules. Errors: ConfigError.
  SequentialLR(std::vector<std::shared_ptr<Schedule>> schedules, std::vector<int64_t> milestones);
  double learning_rate(double base_lr, int64_t step) const override;
  std::optional<double> momentum(int64_t step) const override;
  /// Each schedule gets the length of its own part.
  void set_total_steps(std::optional<int64_t> total_steps) override;

 private:
  size_t active(int64_t step) const;
  int64_t start_of(size_t index) const { return index == 0 ? 0 : milestones_[index - 1]; }

  std::vector<int64_t> milestones_;
};

/// All schedules at once: each one's rate is the base rate of the next, so that their factors multiply.
class ChainedScheduler final : public ScheduleChain {
 public:
  /// Errors: ConfigError.
  explicit ChainedScheduler(std::vector<std::shared_ptr<Schedule>> schedules);
  double learning_rate(double base_lr, int64_t step) const override;
  /// The last schedule that says something of it decides.
  std::optional<double> momentum(int64_t step) const override;
  void set_total_steps(std::optional<int64_t> total_steps) override;
};

}  // namespace levin
