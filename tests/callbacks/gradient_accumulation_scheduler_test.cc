#include "callbacks/gradient_accumulation_scheduler.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/callbacks/fake_run.h"
#include "trainer/core/error.h"
#include "trainer/core/lightning_module.h"

namespace levin {
namespace {

using Calls = std::vector<int64_t>;

class GradientAccumulationSchedulerTest : public testing::Test {
 protected:
  RunContext train() { return run.context(Stage::kTrain); }
  Calls take() { return std::exchange(run.control.accumulate_grad_batches, {}); }
  void end_batch(GradientAccumulationScheduler& callback, int64_t global_step) {
    run.state.global_step = global_step;
    callback.on_train_batch_end(train(), StepOutput::skip(), Batch());
  }

  FakeRun run;
};

std::string error_of(const GradientAccumulationScheduler::Options& options) {
  try {
    GradientAccumulationScheduler callback(options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST_F(GradientAccumulationSchedulerTest, EpochsTakeTheValueOfTheLastKeyBeforeThem) {
  GradientAccumulationScheduler callback({.scheduling = {{1, 8}, {4, 2}}});
  callback.on_train_start(train());
  for (run.state.epoch = 0; run.state.epoch < 6; ++run.state.epoch) callback.on_train_epoch_start(train());
  EXPECT_EQ(take(), (Calls{1, 1, 8, 8, 8, 2, 2}));
}

TEST_F(GradientAccumulationSchedulerTest, StepsTakeTheirValueAtOnce) {
  GradientAccumulationScheduler callback({.by_step = {{0, 1}, {2, 4}, {3, 2}}});
  callback.on_train_start(train());
  callback.on_train_epoch_start(train());
  EXPECT_EQ(take(), (Calls{1, 1}));
  end_batch(callback, 1);
  EXPECT_EQ(take(), Calls{1});
  end_batch(callback, 2);
  EXPECT_EQ(take(), Calls{4});
  end_batch(callback, 2);  // in the middle of a window
  EXPECT_EQ(take(), Calls{});
  end_batch(callback, 3);
  EXPECT_EQ(take(), Calls{2});
  end_batch(callback, 1);  // after a return to a checkpoint
  EXPECT_EQ(take(), Calls{1});
}

TEST_F(GradientAccumulationSchedulerTest, EpochsDoNotLookAtSteps) {
  GradientAccumulationScheduler callback({.scheduling = {{0, 8}}});
  end_batch(callback, 5);
  EXPECT_EQ(take(), Calls{});
}

TEST_F(GradientAccumulationSchedulerTest, ResumedRunTakesTheValueOfItsPosition) {
  run.state = {.epoch = 4, .global_step = 250};
  GradientAccumulationScheduler by_epoch({.scheduling = {{0, 8}, {4, 2}}});
  by_epoch.on_train_start(train());
  GradientAccumulationScheduler by_step({.by_step = {{250, 16}, {300, 32}}});
  by_step.on_train_start(train());
  EXPECT_EQ(take(), (Calls{2, 16}));
}

TEST_F(GradientAccumulationSchedulerTest, TrainerMustNotAccumulateToo) {
  GradientAccumulationScheduler callback({.scheduling = {{0, 8}}});
  EXPECT_NO_THROW(callback.setup(train()));
  run.options.accumulate_grad_batches = 2;
  EXPECT_THROW(callback.setup(train()), ConfigError);
  run.is_fitting = false;
  EXPECT_NO_THROW(callback.setup(run.context(Stage::kTest)));
}

TEST_F(GradientAccumulationSchedulerTest, ManualOptimizationHasNothingToSchedule) {
  struct ManualModule : LightningModule {
    bool automatic_optimization() const override { return false; }
    StepOutput training_step(const Batch& /*batch*/, StepContext& /*ctx*/) override { return StepOutput::skip(); }
  } module;
  run.module = &module;
  EXPECT_THROW(GradientAccumulationScheduler({.scheduling = {{0, 8}}}).setup(train()), ConfigError);
}

TEST(GradientAccumulationSchedulerOptionsTest, ExactlyOneMapWithKeysAndValuesInRange) {
  EXPECT_EQ(error_of({}),
            "[GradientAccumulationScheduler] exactly one of scheduling and by_step must be given, got neither.");
  EXPECT_EQ(error_of({.scheduling = {{0, 1}}, .by_step = {{0, 1}}}),
            "[GradientAccumulationScheduler] exactly one of scheduling and by_step must be given, got both.");
  EXPECT_EQ(
      error_of({.scheduling = {{-1, 0}}}),
      "[GradientAccumulationScheduler] scheduling must be >= 1, got {-1: 0}; the keys of scheduling must be >= 0, "
      "got -1.");
  EXPECT_NE(error_of({.by_step = {{0, 0}}}), "");
  EXPECT_EQ(error_of({.by_step = {{0, 1}}}), "");
}

}  // namespace
}  // namespace levin
