#include "callbacks/throughput_monitor.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/callbacks/fake_run.h"
#include "tests/callbacks/tiny_module.h"
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
    step(monitor, seconds, num_samples, Batch(at::zeros({num_samples, 1})));
  }
  void step(ThroughputMonitor& monitor, double seconds, int64_t num_samples, const Batch& batch) {
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

TEST_F(ThroughputMonitorTest, TokensAreThoseOfTheSamples) {
  ThroughputMonitor monitor = make({.tokens_per_sample = 128.0});
  monitor.on_train_epoch_start(train());
  step(monitor, 2.0, 8);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/tokens_per_second"), 512.0);
}

// 2 x 5 and 2 x 7 tokens in 4 seconds; the mask does not count.
TEST_F(ThroughputMonitorTest, TokensMayBeCountedInTheBatch) {
  ThroughputMonitor monitor = make({.tokens_from = "input_ids"});
  monitor.on_train_epoch_start(train());
  for (const int64_t length : {5, 7}) {
    const Batch::Fields fields = {{"mask", at::zeros({2, 99})}, {"input_ids", at::zeros({2, length})}};
    step(monitor, 2.0, 2, Batch(fields));
  }
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/tokens_per_second"), 6.0);
}

TEST_F(ThroughputMonitorTest, BatchWithoutTheTokensIsAnErrorBeforeItsStep) {
  ThroughputMonitor monitor = make({.tokens_from = "input_ids"});
  const Batch::Fields other = {{"ids", at::zeros({2, 5})}};
  const Batch::Fields nested = {{"input_ids", Batch(other)}};
  for (const Batch& batch : {Batch(at::zeros({2, 5})), Batch(other), Batch(nested)}) {
    EXPECT_THROW(monitor.on_train_batch_start(train(), batch), ConfigError);
  }
  try {
    monitor.on_train_batch_start(train(), Batch(other));
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()),
              "[ThroughputMonitor] tokens_from must name a tensor of the batch, got \"input_ids\" for " +
                  Batch(other).describe() + ". Name another field, or set tokens_per_sample.");
  }
}

// 4 samples of 5e11 operations in 2 seconds: 1e12 a second, of 4e12.
TEST_F(ThroughputMonitorTest, ShareIsThatOfThePeakGiven) {
  ThroughputMonitor monitor = make({.flops_per_sample = 5e11, .peak_tflops = 4.0});
  monitor.on_train_epoch_start(train());
  step(monitor, 2.0, 4);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/peak_share"), 0.25);
}

// Counts how often the peak of a device is measured, and for which type.
struct FakePeak {
  ThroughputMonitor::MeasurePeak function() {
    return [this](at::Device device, at::ScalarType dtype) {
      EXPECT_TRUE(device.is_cpu());
      dtypes.push_back(dtype);
      return 2e12;
    };
  }
  std::vector<at::ScalarType> dtypes;
};

TEST_F(ThroughputMonitorTest, PeakIsMeasuredOnceForTheTypeOfTheProducts) {
  FakePeak peak;
  TinyModule module(at::kDouble);
  run.module = &module;
  ThroughputMonitor monitor(
      {.flops_per_sample = 5e11, .measure_peak = true}, [this] { return now; }, peak.function());
  monitor.on_fit_start(train());
  monitor.on_fit_start(train());
  monitor.on_train_epoch_start(train());
  step(monitor, 2.0, 4);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/peak_share"), 0.5);
  run.options.precision = "bf16-mixed";
  monitor.on_fit_start(train());
  EXPECT_EQ(peak.dtypes, (std::vector{at::kDouble, at::kBFloat16}));
}

TEST_F(ThroughputMonitorTest, PeakIsNotMeasuredUnlessAskedFor) {
  FakePeak peak;
  TinyModule module;
  run.module = &module;
  ThroughputMonitor monitor(
      {.flops_per_sample = 5e11}, [this] { return now; }, peak.function());
  monitor.on_fit_start(train());
  monitor.on_train_epoch_start(train());
  step(monitor, 2.0, 4);
  EXPECT_TRUE(peak.dtypes.empty());
  EXPECT_FALSE(run.control.logged.find("throughput/peak_share"));
}

// Two ranks that do the same.
struct TwoRanks final : Communicator {
  int64_t rank() const override { return 0; }
  int64_t world_size() const override { return 2; }
  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    ASSERT_EQ(op, ReduceOp::kSum);
    tensor.mul_(2.0);
  }
  void broadcast(at::Tensor& /*tensor*/, int64_t /*source*/) override {}
  void barrier() override {}
};

TEST_F(ThroughputMonitorTest, RatesAddUpOverRanksAndTheShareDoesNot) {
  TwoRanks ranks;
  run.communicator = &ranks;
  ThroughputMonitor monitor = make({.flops_per_sample = 5e11, .tokens_per_sample = 3.0, .peak_tflops = 4.0});
  monitor.on_train_epoch_start(train());
  step(monitor, 2.0, 4);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/samples_per_second"), 4.0);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/tokens_per_second"), 12.0);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/tflops_per_second"), 2.0);
  EXPECT_DOUBLE_EQ(*run.control.logged.find("throughput/peak_share"), 0.25);
}

TEST(ThroughputMonitorOptionsTest, WindowMustHoldABatch) {
  EXPECT_THROW(ThroughputMonitor({.window = 0}), ConfigError);
}

TEST(ThroughputMonitorOptionsTest, OptionsThatDoNotGoTogetherAreNamedAtOnce) {
  const ThroughputMonitor::Options options = {
      .tokens_per_sample = 2.0, .tokens_from = "ids", .measure_peak = true, .peak_tflops = 3.0};
  try {
    const ThroughputMonitor monitor(options);
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()),
              "[ThroughputMonitor] tokens_per_sample (2) and tokens_from (\"ids\") both say how many tokens there are: "
              "set one of them; measure_peak and peak_tflops (3) both say what the device can do: set one of them; "
              "measure_peak needs flops_per_sample, of which the share is taken.");
  }
  EXPECT_THROW(ThroughputMonitor({.peak_tflops = 3.0}), ConfigError);
  EXPECT_THROW(ThroughputMonitor({.flops_per_sample = 1.0, .peak_tflops = -3.0}), ConfigError);
  EXPECT_THROW(ThroughputMonitor({.tokens_from = ""}), ConfigError);
}

}  // namespace
}  // namespace levin
