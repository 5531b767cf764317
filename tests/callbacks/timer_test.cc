#include "callbacks/timer.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/callbacks/fake_run.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

class TimerTest : public testing::Test {
 protected:
  RunContext train() { return run.context(Stage::kTrain); }
  Timer make(const Timer::Options& options = {}) {
    return Timer(options, [this] { return now; });
  }
  void step(Timer& timer, double seconds) {
    now += seconds;
    timer.on_train_batch_end(train(), StepOutput::skip(), Batch());
  }
  size_t num_stops() const { return run.control.stop_reasons.size(); }
  static double elapsed(const Timer& timer, Stage stage) { return timer.time_elapsed(stage).count(); }

  double now = 1000.0;
  FakeRun run;
};

TEST_F(TimerTest, StopsAtTheStepAfterWhichTheTimeIsOver) {
  Timer timer = make({.duration = "00:00:01:30"});
  timer.setup(train());
  now += 500.0;  // before the training
  timer.on_train_start(train());
  step(timer, 89.0);
  EXPECT_EQ(num_stops(), 0u);
  EXPECT_DOUBLE_EQ(timer.time_remaining()->count(), 1.0);
  step(timer, 1.0);
  ASSERT_EQ(num_stops(), 1u);
  EXPECT_EQ(run.control.stop_reasons[0], "[Timer] the training has taken 90.0 s, and duration is \"00:00:01:30\".");
  step(timer, 1.0);  // min_epochs or min_steps delay the end
  EXPECT_EQ(num_stops(), 1u);
  EXPECT_DOUBLE_EQ(timer.time_remaining()->count(), 0.0);
}

TEST_F(TimerTest, IntervalEpochLetsTheEpochEnd) {
  Timer timer = make({.duration = "90s", .interval = "epoch"});
  timer.setup(train());
  timer.on_train_start(train());
  step(timer, 100.0);
  EXPECT_EQ(num_stops(), 0u);
  timer.on_train_epoch_end(train());
  EXPECT_EQ(num_stops(), 1u);
}

TEST_F(TimerTest, StagesAreMeasuredApart) {
  Timer timer = make();
  timer.setup(train());
  timer.on_train_start(train());
  step(timer, 8.0);
  for (const double seconds : {2.0, 1.0}) {
    timer.on_validation_start(run.context(Stage::kValidate));
    now += seconds;
    timer.on_validation_end(run.context(Stage::kValidate));
  }
  timer.on_train_end(train());
  run.is_fitting = false;
  timer.setup(run.context(Stage::kTest));
  timer.on_test_start(run.context(Stage::kTest));
  now += 4.0;
  EXPECT_DOUBLE_EQ(elapsed(timer, Stage::kTest), 4.0);  // while it runs
  timer.on_test_end(run.context(Stage::kTest));
  timer.setup(run.context(Stage::kPredict));
  timer.on_predict_start(run.context(Stage::kPredict));
  now += 16.0;
  timer.on_predict_end(run.context(Stage::kPredict));
  now += 1000.0;
  EXPECT_DOUBLE_EQ(elapsed(timer, Stage::kTrain), 11.0);  // with the validations
  EXPECT_DOUBLE_EQ(elapsed(timer, Stage::kValidate), 3.0);
  EXPECT_DOUBLE_EQ(elapsed(timer, Stage::kTest), 4.0);
  EXPECT_DOUBLE_EQ(elapsed(timer, Stage::kPredict), 16.0);
  EXPECT_EQ(timer.time_remaining(), std::nullopt);
  EXPECT_EQ(num_stops(), 0u);
}

TEST_F(TimerTest, ResumedRunHasTheTimeThatIsLeft) {
  Timer before = make({.duration = "100s"});
  before.setup(train());
  before.on_train_start(train());
  step(before, 60.0);
  const StateDict state = before.state();
  now += 1000.0;  // between the two runs
  Timer after = make({.duration = "100s"});
  after.setup(train());
  after.load_state(state);
  after.on_train_start(train());
  EXPECT_DOUBLE_EQ(after.time_remaining()->count(), 40.0);
  step(after, 39.0);
  EXPECT_EQ(num_stops(), 0u);
  step(after, 1.0);
  EXPECT_EQ(num_stops(), 1u);
  EXPECT_FALSE(after.goes_back());
}

TEST_F(TimerTest, ResumedRunWithoutTimeLeftStopsBeforeItsFirstStep) {
  Timer before = make({.duration = "100s"});
  before.on_train_start(train());
  now += 60.0;
  for (const std::string interval : {"step", "epoch"}) {
    Timer after = make({.duration = "50s", .interval = interval});
    after.load_state(before.state());
    after.on_train_start(train());
  }
  EXPECT_EQ(num_stops(), 2u);
}

TEST_F(TimerTest, NewFitHasTheWholeTime) {
  Timer timer = make({.duration = "100s"});
  for (int fit = 0; fit < 2; ++fit) {
    timer.setup(train());
    timer.on_train_start(train());
    step(timer, 60.0);
    timer.on_train_end(train());
  }
  EXPECT_EQ(num_stops(), 0u);
  EXPECT_DOUBLE_EQ(elapsed(timer, Stage::kTrain), 60.0);
}

TEST_F(TimerTest, ClockStandsAfterAnError) {
  Timer timer = make();
  timer.on_train_start(train());
  now += 5.0;
  timer.on_exception(train(), std::runtime_error("a"));
  now += 5.0;
  EXPECT_DOUBLE_EQ(elapsed(timer, Stage::kTrain), 5.0);
}

TEST_F(TimerTest, DamagedStateChangesNothing) {
  Timer timer = make();
  StateDict state;
  state.set("train_seconds", 7.0);
  EXPECT_THROW(timer.load_state(state), CheckpointError);
  EXPECT_DOUBLE_EQ(elapsed(timer, Stage::kTrain), 0.0);
}

TEST(TimerOptionsTest, AllThatIsWrongIsNamed) {
  try {
    Timer timer({.duration = "90", .interval = "batch"});
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "[Timer] interval must be one of: step, epoch, got batch; duration must be \"DD:HH:MM:SS\" (days, "
                 "hours, minutes, seconds) or a number with a unit: 90s, 10m, 2h, 1.5d, got \"90\".");
  }
}

}  // namespace
}  // namespace levin
