#include "trainer/config/scheduler_section.h"

#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/config/registry.h"
#include "trainer/config/yaml.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr double kTolerance = 1e-12;  // a few roundings of numbers near 1

const Registry& registry() {
  static const Registry with_builtins = [] {
    Registry result;
    add_builtin_classes(result);
    return result;
  }();
  return with_builtins;
}

PreparedScheduler read(const std::string& yaml) {
  ConfigProblems problems;
  const ConfigValue root = parse_yaml(yaml, "a.yaml");
  const auto prepared = read_scheduler(*root.find("scheduler"), "scheduler", registry().schedulers, problems);
  problems.throw_if_any();
  return prepared.value();
}

std::string read_error(const std::string& yaml) {
  return error_text<ConfigError>([&] { read(yaml); });
}

std::vector<double> rates(const PreparedScheduler& prepared, int64_t num_steps) {
  const ScheduleConfig config = prepared.make();
  std::vector<double> result;
  for (int64_t step = 0; step < num_steps; ++step) result.push_back(config.schedule->learning_rate(1.0, step));
  return result;
}

TEST(SchedulerSectionTest, AClassWithItsOptionsAndKeys) {
  const PreparedScheduler prepared =
      read("scheduler: {class: StepLR, step_size: 2, gamma: 0.5, interval: epoch, frequency: 3}\n");
  EXPECT_EQ(rates(prepared, 5), (std::vector<double>{1, 1, 0.5, 0.5, 0.25}));
  const ScheduleConfig config = prepared.make();
  EXPECT_EQ(config.interval, ScheduleInterval::kEpoch);
  EXPECT_EQ(config.frequency, 3);
  EXPECT_TRUE(config.strict);
  EXPECT_NE(config.schedule, prepared.make().schedule);  // one for each optimizer
}

TEST(SchedulerSectionTest, ANameAloneHasTheDefaults) {
  EXPECT_EQ(read("scheduler: WarmupCosineLR\n").make().interval, ScheduleInterval::kStep);
  const ScheduleConfig plateau =
      read("scheduler: {class: ReduceLROnPlateau, monitor: val_loss, strict: false}\n").make();
  EXPECT_EQ(plateau.interval, ScheduleInterval::kEpoch);
  EXPECT_EQ(plateau.monitor, "val_loss");
  EXPECT_FALSE(plateau.strict);
}

const std::string kChain =
    "scheduler:\n"
    "  class: SequentialLR\n"
    "  milestones: [2]\n"
    "  interval: epoch\n"
    "  schedulers:\n"
    "    - {class: ConstantLR, factor: 0.25, total_iters: 100}\n"
    "    - class: ChainedScheduler\n"
    "      schedulers: [{class: ExponentialLR, gamma: 0.5}, {class: ConstantLR, factor: 0.5, total_iters: 1}]\n";

TEST(SchedulerSectionTest, ChainsAreNested) {
  const PreparedScheduler prepared = read(kChain);
  const std::vector<double> expected = {0.25, 0.25, 0.5, 0.5, 0.25};
  const std::vector<double> found = rates(prepared, 5);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], kTolerance) << i;
  EXPECT_EQ(prepared.make().interval, ScheduleInterval::kEpoch);
}

TEST(SchedulerSectionTest, TheEffectiveSectionReadAgainIsTheSame) {
  for (const std::string& yaml : {std::string("scheduler: {class: OneCycleLR, max_lr: 0.5}\n"),
                                  std::string("scheduler: {class: ReduceLROnPlateau, monitor: loss}\n"), kChain}) {
    ConfigValue root = ConfigValue::of_map();
    root.at_key("scheduler", {}) = read(yaml).yaml;
    const std::string written = to_yaml(root);
    ConfigValue again = ConfigValue::of_map();
    again.at_key("scheduler", {}) = read(written).yaml;
    EXPECT_EQ(to_yaml(again), written);
  }
}

TEST(SchedulerSectionTest, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_EQ(read_error("scheduler: {class: StepsLR}\n"),
            "a.yaml:1: scheduler: there is no scheduler called \"StepsLR\"; did you mean \"StepLR\"?");
  EXPECT_EQ(read_error("scheduler:\n  class: StepLR\n  step_siz: 3\n  interval: batch\n"),
            "a.yaml:4: scheduler.interval must be one of: step, epoch, got batch\n"
            "a.yaml:3: unknown key \"scheduler.step_siz\"; did you mean \"step_size\"?");
  EXPECT_EQ(read_error("scheduler:\n  class: StepLR\n"), "a.yaml:2: scheduler: [StepLR] step_size must be given.");
  EXPECT_EQ(read_error("scheduler:\n  class: ReduceLROnPlateau\n"),
            "a.yaml:2: scheduler: [schedule] monitor must name the metric that the schedule observes, got none.");
}

TEST(SchedulerSectionTest, WhatIsWrongInAChainIsNamedWithItsLine) {
  EXPECT_EQ(read_error("scheduler:\n"
                       "  class: SequentialLR\n"
                       "  milestones: [0]\n"
                       "  schedulers:\n"
                       "    - {class: LinearLR, start_factor: 2}\n"
                       "    - {class: ExponentialLR, gamma: 0.9, interval: epoch}\n"
                       "    - {class: Nothing}\n"),
            "a.yaml:3: scheduler.milestones must be >= 1, got [0]\n"
            "a.yaml:5: scheduler.schedulers[0].start_factor must be between 0 and 1, got 2\n"
            "a.yaml:6: scheduler.schedulers[1].interval belongs to the outermost scheduler\n"
            "a.yaml:7: scheduler.schedulers[2]: there is no scheduler called \"Nothing\"; known: ConstantLR, LinearLR, "
            "WarmupCosineLR, WarmupStableDecayLR, CosineAnnealingLR, CosineAnnealingWarmRestarts, PolynomialLR, "
            "StepLR, MultiStepLR, ExponentialLR, OneCycleLR, ReduceLROnPlateau, SequentialLR, ChainedScheduler");
  EXPECT_EQ(read_error("scheduler: {class: ChainedScheduler}\n"),
            "a.yaml:1: scheduler.schedulers must be a list of schedulers, got nothing");
  EXPECT_EQ(read_error("scheduler: {class: SequentialLR, milestones: [5, 4], schedulers: [LinearLR, LinearLR]}\n"),
            "a.yaml:1: scheduler: [SequentialLR] milestones must be rising steps > 0, one fewer than there are "
            "schedulers, got [5, 4] for 2 schedulers.");
}

}  // namespace
}  // namespace levin
