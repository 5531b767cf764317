#include "callbacks/throughput_monitor.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/callbacks/fake_run.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

class ThroughputMonitorTest : public testing::Test {
 protected:
  RunContext train() { return run.context(Stage::kTrain); }
  ThroughputMonitor make(const ThroughputMonitor::Options& options = {}) {
    return ThroughputMonitor(options, [this] { return now; });
  }
  void step(ThroughputMonitor& monitor, double seconds, int64_t num_samples) {
    const Batch batch(at::zeros({num_samples, 1}));
    monitor.on_train_batch_start(train(), batch);
    now += seconds;
    run.state.num_samples += num_samples;
    monitor.on_train_batch_end(train(), StepOutput::skip(), batch);
  }

  double now = 100.0;
  FakeRun run;
};

// The last two of three batches: 4 + 8 samples in 1 + 2 seconds.
TEST_F(ThroughputMonitorTest, RatesAreThoseOfTheWindow) {
  ThroughputMonitor monitor = make({.window = 2, .flops_per_sample = 5e11});
  monitor.on_train_epoch_start(train());
  step(monitor, 50.0, 4);
  step(monitor, 1.0, 4);
  step(monitor, 2.0, 8);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/samples_per_second"), 4.0);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/batches_per_second"), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/tflops_per_second"), 2.0);
}

TEST_F(ThroughputMonitorTest, ValidationsAndCheckpointsDoNotCount) {
  ThroughputMonitor monitor = make();
  monitor.on_train_epoch_start(train());
  step(monitor, 1.0, 6);
  monitor.on_validation_start(run.context(Stage::kValidate));
  now += 1000.0;
  monitor.on_validation_end(run.context(Stage::kValidate));
  StateDict model;
  monitor.on_save_checkpoint(train(), model);
  now += 1000.0;
  step(monitor, 2.0, 6);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/samples_per_second"), 4.0);
  monitor.on_train_epoch_end(train());
  EXPECT_DOUBLE_EQ(*run.control.logged.find("epoch_seconds"), 3.0);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("samples_per_second"), 4.0);
}

TEST_F(ThroughputMonitorTest, AnEpochGoesOnAfterAResume) {
  ThroughputMonitor monitor = make();
  run.state.num_samples = 100;
  monitor.on_train_epoch_start(train());
  step(monitor, 2.0, 6);
  const StateDict state = monitor.state();
  now += 1000.0;
  ThroughputMonitor resumed = make();
  resumed.load_state(state);
  run.state.batch_idx = 1;
  resumed.on_train_start(train());
  step(resumed, 1.0, 6);
  resumed.on_train_epoch_end(train());
  EXPECT_DOUBLE_EQ(*run.control.logged.find("epoch_seconds"), 3.0);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("samples_per_second"), 4.0);
}

TEST_F(ThroughputMonitorTest, NothingIsLoggedBetweenLoggingSteps) {
  run.is_logging_step = false;
  ThroughputMonitor monitor = make();
  monitor.on_train_epoch_start(train());
  step(monitor, 1.0, 6);
  EXPECT_TRUE(run.control.logged.empty());
}

TEST(ThroughputMonitorOptionsTest, WindowMustHoldABatch) {
  EXPECT_THROW(ThroughputMonitor({.window = 0}), ConfigError);
}

}  // namespace
}  // namespace levin
