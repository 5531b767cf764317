#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"
#include "trainer/optim/schedules/constant_lr.h"
#include "trainer/optim/schedules/cosine_annealing_lr.h"
#include "trainer/optim/schedules/cosine_annealing_warm_restarts.h"
#include "trainer/optim/schedules/exponential_lr.h"
#include "trainer/optim/schedules/lambda_lr.h"
#include "trainer/optim/schedules/multi_step_lr.h"
#include "trainer/optim/schedules/one_cycle_lr.h"
#include "trainer/optim/schedules/polynomial_lr.h"
#include "trainer/optim/schedules/reduce_lr_on_plateau.h"
#include "trainer/optim/schedules/schedule_chain.h"
#include "trainer/optim/schedules/step_lr.h"
#include "trainer/optim/schedules/warmup_cosine_lr.h"
#include "trainer/optim/schedules/warmup_stable_decay_lr.h"

namespace levin {
namespace {

constexpr double kTolerance = 1e-12;  // a few roundings of numbers near 1

using Rates = std::vector<double>;

void expect_rates(const Schedule& schedule, double base_lr, const Rates& expected) {
  for (size_t step = 0; step < expected.size(); ++step) {
    EXPECT_NEAR(schedule.learning_rate(base_lr, static_cast<int64_t>(step)), expected[step], kTolerance) << step;
  }
}

template <class S>
std::string error_of(const typename S::Options& options) {
  return error_text<ConfigError>([&] { S schedule(options); });
}

// A11: linear warm-up of 2, cosine to step 10.
TEST(WarmupCosineLRTest, WarmsUpThenFollowsTheCosine) {
  const WarmupCosineLR schedule({.warmup_steps = 2, .total_steps = 10});
  EXPECT_NEAR(schedule.learning_rate(1.0, 0), 0.5, kTolerance);
  EXPECT_NEAR(schedule.learning_rate(1.0, 1), 1.0, kTolerance);
  EXPECT_NEAR(schedule.learning_rate(1.0, 2), 1.0, kTolerance);
  EXPECT_NEAR(schedule.learning_rate(1.0, 6), 0.5, kTolerance);
  EXPECT_NEAR(schedule.learning_rate(1.0, 10), 0.0, kTolerance);
  EXPECT_NEAR(schedule.learning_rate(1.0, 25), 0.0, kTolerance);
}

TEST(WarmupCosineLRTest, GroupsKeepTheirRatio) {
  const WarmupCosineLR schedule({.warmup_steps = 2, .total_steps = 10});
  for (int64_t step = 0; step < 10; ++step) {
    EXPECT_NEAR(schedule.learning_rate(1.0, step), 10 * schedule.learning_rate(0.1, step), kTolerance) << step;
  }
}

TEST(WarmupCosineLRTest, TakesTheLengthOfTheRunAndStaysAtEtaMin) {
  WarmupCosineLR schedule({.eta_min = 0.2});
  schedule.set_total_steps(4);
  const double root = std::sqrt(0.5);  // cos(pi / 4)
  expect_rates(schedule, 1.0, {1.0, 0.2 + 0.4 * (1 + root), 0.6, 0.2 + 0.4 * (1 - root), 0.2, 0.2});
  schedule.set_total_steps(0);
  expect_rates(schedule, 1.0, {1.0, 0.2});
}

TEST(WarmupCosineLRTest, ARunThatEndsInTheWarmUpHasNoDecay) {
  WarmupCosineLR schedule({.warmup_steps = 4});
  schedule.set_total_steps(2);
  expect_rates(schedule, 1.0, {0.25, 0.5, 0.75, 1.0});
}

TEST(WarmupStableDecayLRTest, EachShapeFallsFromTheBaseToEtaMin) {
  WarmupStableDecayLR::Options options{.warmup_steps = 2, .decay_steps = 4, .total_steps = 8};
  expect_rates(WarmupStableDecayLR(options), 1.0,
               {0.5, 1, 1, 1, 1, 0.5, 1 - std::sqrt(0.5), 1 - std::sqrt(0.75), 0, 0});
  options.decay_shape = "linear";
  options.eta_min = 0.2;
  expect_rates(WarmupStableDecayLR(options), 1.0, {0.5, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 0.2});
  options.decay_shape = "cosine";
  EXPECT_NEAR(WarmupStableDecayLR(options).learning_rate(1.0, 6), 0.6, kTolerance);
}

TEST(WarmupStableDecayLRTest, DecaysInTheLastTenthOfTheRun) {
  WarmupStableDecayLR schedule({.decay_shape = "linear"});
  schedule.set_total_steps(20);
  EXPECT_EQ(schedule.learning_rate(1.0, 18), 1.0);
  EXPECT_NEAR(schedule.learning_rate(1.0, 19), 0.5, kTolerance);
}

TEST(LambdaLRTest, MultipliesByTheFunction) {
  expect_rates(LambdaLR([](int64_t step) { return 1.0 + static_cast<double>(step); }), 0.5, {0.5, 1.0, 1.5});
}

TEST(OneCycleLRTest, StaysAtTheLastRateAndScalesWithTheGroup) {
  OneCycleLR schedule({});
  schedule.set_total_steps(10);
  const double last = 0.5 / 25.0 / 1e4;
  EXPECT_NEAR(schedule.learning_rate(0.5, 2), 0.5, kTolerance);
  EXPECT_NEAR(schedule.learning_rate(0.5, 9), last, kTolerance);
  EXPECT_NEAR(schedule.learning_rate(0.5, 30), last, kTolerance);
  EXPECT_NEAR(*schedule.momentum(2), 0.85, kTolerance);
  EXPECT_EQ(OneCycleLR({.total_steps = 3, .cycle_momentum = false}).momentum(0), std::nullopt);
  schedule.set_total_steps(1);
  EXPECT_TRUE(std::isfinite(schedule.learning_rate(0.5, 0)));
}

TEST(ReduceLROnPlateauTest, NanIsNoImprovement) {
  ReduceLROnPlateau schedule({.patience = 0});
  schedule.observe(1.0);
  schedule.observe(std::numeric_limits<double>::quiet_NaN());
  EXPECT_NEAR(schedule.learning_rate(1.0, 0), 0.1, kTolerance);
}

TEST(ReduceLROnPlateauTest, StateOfAnotherScheduleIsRefusedAndChangesNothing) {
  ReduceLROnPlateau schedule({.patience = 0});
  schedule.observe(1.0);
  StateDict broken;
  broken.set("best", -5.0);
  broken.set("num_bad", int64_t{0});
  error_text<CheckpointError>([&] { schedule.load_state(broken); });
  schedule.observe(0.5);  // better than 1, not than -5
  EXPECT_EQ(schedule.learning_rate(1.0, 0), 1.0);
}

TEST(SequentialLRTest, EachScheduleGetsTheLengthOfItsPart) {
  SequentialLR schedule({std::make_shared<PolynomialLR>(PolynomialLR::Options{}),
                         std::make_shared<PolynomialLR>(PolynomialLR::Options{})},
                        {2});
  schedule.set_total_steps(6);
  expect_rates(schedule, 1.0, {1.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0});
  schedule.set_total_steps(1);  // ends before the milestone
  expect_rates(schedule, 1.0, {1.0, 0.5, 1.0, 0.0});
}

TEST(SequentialLRTest, WrongMilestonesAreNamed) {
  const auto error = [](std::vector<int64_t> milestones) {
    const std::shared_ptr<Schedule> constant = std::make_shared<ConstantLR>(ConstantLR::Options{});
    return error_text<ConfigError>([&] { SequentialLR({constant, constant, constant}, milestones); });
  };
  const std::string rule =
      "[SequentialLR] milestones must be rising steps > 0, one fewer than there are schedulers, got ";
  EXPECT_EQ(error({5}), rule + "[5] for 3 schedulers.");
  EXPECT_EQ(error({5, 5}), rule + "[5, 5] for 3 schedulers.");
  EXPECT_EQ(error({0, 5}), rule + "[0, 5] for 3 schedulers.");
  EXPECT_EQ(error_text<ConfigError>([] { SequentialLR({}, {}); }),
            "[SequentialLR] schedulers must be given, got none.");
  EXPECT_EQ(error_text<ConfigError>([] { ChainedScheduler({nullptr}); }),
            "[ChainedScheduler] schedulers[0] must not be nullptr.");
}

TEST(ChainedSchedulerTest, PassesMetricsOnAndSavesTheirState) {
  const auto make = [] {
    return ChainedScheduler({std::make_shared<ConstantLR>(ConstantLR::Options{.factor = 0.5, .total_iters = 2}),
                             std::make_shared<ReduceLROnPlateau>(ReduceLROnPlateau::Options{.patience = 0})});
  };
  ChainedScheduler schedule = make();
  EXPECT_TRUE(schedule.needs_metric());
  schedule.observe(1.0);
  schedule.observe(2.0);
  expect_rates(schedule, 1.0, {0.05, 0.05, 0.1});
  ChainedScheduler resumed = make();
  resumed.load_state(schedule.state());
  expect_rates(resumed, 1.0, {0.05, 0.05, 0.1});
}

TEST(SchedulesTest, ALengthIsNeededWhereTheRunHasNone) {
  CosineAnnealingLR schedule({});
  const std::string text =
      "[CosineAnnealingLR] T_max must be given where the length of the run is not known. Set it, or limit the run with "
      "max_epochs or max_steps.";
  EXPECT_EQ(error_text<ConfigError>([&] { schedule.set_total_steps(std::nullopt); }), text);
  EXPECT_EQ(error_text<ConfigError>([&] { schedule.learning_rate(1.0, 0); }), text);
  CosineAnnealingLR configured({.T_max = 4});
  configured.set_total_steps(std::nullopt);
  configured.set_total_steps(100);
  EXPECT_NEAR(configured.learning_rate(1.0, 2), 0.5, kTolerance);
}

TEST(SchedulesTest, WrongOptionsAreNamed) {
  EXPECT_EQ(error_of<StepLR>({}), "[StepLR] step_size must be given.");
  EXPECT_EQ(error_of<StepLR>({.step_size = 0, .gamma = -1}),
            "[StepLR] step_size must be >= 1, got 0; gamma must be >= 0, got -1.");
  EXPECT_EQ(error_of<ExponentialLR>({}), "[ExponentialLR] gamma must be given.");
  EXPECT_EQ(error_of<CosineAnnealingWarmRestarts>({}), "[CosineAnnealingWarmRestarts] T_0 must be given.");
  EXPECT_EQ(error_of<MultiStepLR>({}), "[MultiStepLR] milestones must be given.");
  EXPECT_EQ(error_of<MultiStepLR>({.milestones = {3, 2}}), "[MultiStepLR] milestones must rise, got [3, 2].");
  EXPECT_EQ(error_of<ConstantLR>({.factor = 2}), "[ConstantLR] factor must be between 0 and 1, got 2.");
  EXPECT_EQ(error_of<ReduceLROnPlateau>({.factor = 1}), "[ReduceLROnPlateau] factor must be < 1, got 1.");
  EXPECT_EQ(error_of<ReduceLROnPlateau>({.mode = "best"}),
            "[ReduceLROnPlateau] mode must be one of: min, max, got best.");
  EXPECT_EQ(error_of<WarmupCosineLR>({.warmup_steps = 5, .total_steps = 5}),
            "[WarmupCosineLR] warmup_steps must be < total_steps, got 5 and 5.");
  EXPECT_EQ(error_of<WarmupStableDecayLR>({.warmup_steps = 5, .decay_steps = 6, .total_steps = 10}),
            "[WarmupStableDecayLR] warmup_steps + decay_steps must be <= total_steps, got 5 + 6 and 10.");
}

}  // namespace
}  // namespace levin
