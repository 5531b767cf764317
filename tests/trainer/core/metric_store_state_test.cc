#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/core/fake_metric.h"
#include "trainer/core/error.h"
#include "trainer/core/metric_store.h"

namespace levin {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const LogOptions kBoth{.on_step = true, .on_epoch = true};

void log_step(MetricStore& store, WholeMean& mean, int64_t step) {
  const double value = std::sin(static_cast<double>(step)) / 3.0;
  store.log("loss", value, kBoth, static_cast<double>(step % 3 + 1));
  for (const auto& [name, reduce] :
       {std::pair("sum", Reduce::kSum), std::pair("min", Reduce::kMin), std::pair("max", Reduce::kMax)}) {
    store.log(name, value * 1e-3, {.on_step = false, .on_epoch = true, .reduce = reduce}, 1.0);
  }
  if (step % 2 == 0) store.log("sometimes", kNaN, {.on_epoch = true, .prog_bar = true, .logger = false}, 1.0);
  mean.update(step);
  store.log("mean", mean, {.prog_bar = true});
  store.end_step();
}

void expect_same(const Metrics& found, const Metrics& expected) {
  EXPECT_EQ(found.names(), expected.names());
  for (const auto& [name, value] : expected) {
    EXPECT_EQ(std::bit_cast<uint64_t>(found.find(name).value()), std::bit_cast<uint64_t>(value)) << name;
  }
}

TEST(MetricStoreStateTest, AResumedEpochIsBitEqual) {
  SingleProcessCommunicator communicator;
  MetricStore straight(Stage::kTrain);
  WholeMean straight_mean;
  StateDict saved;
  for (int64_t step = 0; step < 11; ++step) {
    log_step(straight, straight_mean, step);
    if (step == 6) saved = straight.state();
  }
  MetricStore resumed(Stage::kTrain);
  WholeMean resumed_mean;
  resumed.load_state(saved);
  for (int64_t step = 7; step < 11; ++step) log_step(resumed, resumed_mean, step);

  expect_same(resumed.step_metrics(), straight.step_metrics());
  expect_same(resumed.latest(false), straight.latest(false));
  expect_same(resumed.epoch_metrics(communicator), straight.epoch_metrics(communicator));
  EXPECT_EQ(resumed.epoch_metrics(communicator).find("mean"), 5.0);  // 0 to 10
}

TEST(MetricStoreStateTest, ALoadedStoreShowsWhatTheOtherShowed) {
  MetricStore store(Stage::kTrain);
  WholeMean mean;
  log_step(store, mean, 0);
  MetricStore loaded(Stage::kTrain);
  loaded.load_state(store.state());
  expect_same(loaded.step_metrics(), store.step_metrics());
  EXPECT_EQ(loaded.prog_bar_names(), store.prog_bar_names());
  EXPECT_FALSE(loaded.goes_to_logger("sometimes_step"));
  EXPECT_TRUE(loaded.has("min"));
  EXPECT_EQ(loaded.latest(false).find("loss"), store.latest(false).find("loss"));
}

TEST(MetricStoreStateTest, ALoadedNameKeepsItsOptions) {
  MetricStore store(Stage::kTrain);
  store.log("loss", 1.0, kBoth, 1.0);
  MetricStore loaded(Stage::kTrain);
  loaded.load_state(store.state());
  EXPECT_THROW(loaded.log("loss", 1.0, {}, 1.0), ConfigError);
  loaded.log("loss", 1.0, kBoth, 1.0);
}

TEST(MetricStoreStateTest, LoadingTwiceInARowLosesNoMetric) {
  SingleProcessCommunicator communicator;
  MetricStore first(Stage::kTrain);
  WholeMean mean;
  mean.update(4);
  first.log("mean", mean, {});
  MetricStore second(Stage::kTrain);
  second.load_state(first.state());
  MetricStore third(Stage::kTrain);
  third.load_state(second.state());
  WholeMean resumed;
  resumed.update(8);
  third.log("mean", resumed, {});
  EXPECT_EQ(third.epoch_metrics(communicator).find("mean"), 6.0);
}

TEST(MetricStoreStateTest, AMetricThatIsNotLoggedAgainIsLeftOut) {
  SingleProcessCommunicator communicator;
  MetricStore store(Stage::kTrain);
  WholeMean mean;
  mean.update(4);
  store.log("mean", mean, {});
  MetricStore loaded(Stage::kTrain);
  loaded.load_state(store.state());
  EXPECT_TRUE(loaded.epoch_metrics(communicator).empty());
  loaded.reset_epoch();
  WholeMean next;
  next.update(2);
  loaded.log("mean", next, {});
  EXPECT_EQ(loaded.epoch_metrics(communicator).find("mean"), 2.0);
}

TEST(MetricStoreStateTest, ValuesOfADeviceAreSavedAsTensorsThere) {
  // Meta tensors are on a device without memory: reading one throws.
  MetricStore store(Stage::kTrain);
  store.log("loss", at::zeros({}, at::TensorOptions(at::kMeta)), kBoth, 2.0);
  const StateDict state = store.state();
  EXPECT_TRUE(state.tensor("0.device_sum").is_meta());
  EXPECT_TRUE(state.tensor("0.device_value").is_meta());
  EXPECT_EQ(state.tensor("0.device_sum").scalar_type(), at::kDouble);
}

TEST(MetricStoreStateTest, ASumThatWasOnADeviceIsLoadedFromTheCpu) {
  SingleProcessCommunicator communicator;
  MetricStore store(Stage::kValidate);
  store.log("loss", at::zeros({}, at::TensorOptions(at::kMeta)), {}, 2.0);
  StateDict from_file;
  for (const auto& [name, value] : store.state()) {
    const bool is_tensor = std::holds_alternative<at::Tensor>(value);
    from_file.set(name, is_tensor ? StateDict::Value(at::full({}, 3.0, at::kDouble)) : value);
  }
  MetricStore loaded(Stage::kValidate);
  loaded.load_state(from_file);
  loaded.log("loss", 6.0, {}, 1.0);
  EXPECT_EQ(loaded.epoch_metrics(communicator).find("loss"), 3.0);  // (3 + 6 * 1) / (2 + 1)
}

TEST(MetricStoreStateTest, ADamagedStateChangesNothing) {
  SingleProcessCommunicator communicator;
  MetricStore store(Stage::kValidate);
  store.log("loss", 1.0, {}, 1.0);
  StateDict damaged;
  for (const auto& [name, value] : store.state()) {
    damaged.set(name, name == "0.reduce" ? StateDict::Value(std::string("median")) : value);
  }
  EXPECT_EQ(error_text<CheckpointError>([&] { store.load_state(damaged); }),
            "[MetricStore] the saved reduction must be mean, sum, min or max, got \"median\".");
  EXPECT_THROW(store.load_state({}), CheckpointError);
  EXPECT_EQ(store.epoch_metrics(communicator).find("loss"), 1.0);
}

}  // namespace
}  // namespace levin
