// Callbacks whose effect depends on when the loop calls them, in whole fits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "callbacks/device_stats.h"
#include "callbacks/gradient_accumulation_scheduler.h"
#include "callbacks/lambda_callback.h"
#include "callbacks/learning_rate_monitor.h"
#include "callbacks/throughput_monitor.h"
#include "callbacks/timer.h"
#include "tests/callbacks/fake_run.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/optim/schedules/step_lr.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Gt;
using testing::HasSubstr;
using testing::Lt;
using testing::SizeIs;

// The rate halves with each step of the schedule, from 1.
struct HalvingModel : TinyModel {
  explicit HalvingModel(ScheduleInterval schedule_interval) : interval(schedule_interval) {
    step = [](TinyModel& m, const Batch& /*batch*/, StepContext& /*ctx*/) { return m.w.sum(); };
  }
  Optimizers configure_optimizers() override {
    const auto schedule = std::make_shared<StepLR>(StepLR::Options{.step_size = 1, .gamma = 0.5});
    return {std::make_unique<torch::optim::SGD>(parameters(), 1.0), {.schedule = schedule, .interval = interval}};
  }
  ScheduleInterval interval;
};

std::vector<std::pair<int64_t, double>> rates_of(const RecordingLogger& logger) {
  std::vector<std::pair<int64_t, double>> rates;
  for (const RecordingLogger::Row& row : logger.rows) {
    if (const auto rate = row.metrics.find("lr-SGD")) rates.emplace_back(row.step, *rate);
  }
  return rates;
}

class LearningRateInFitTest : public testing::Test {
 protected:
  // (step, rate) of the rows, one for each step.
  std::vector<std::pair<int64_t, double>> fit(HalvingModel& model, TinyData& data, TrainerOptions options) const {
    options = quiet(options);
    options.logger = true;
    options.log_every_n_steps = 1;
    options.enable_report = false;
    options.default_root_dir = folder_.path;
    const auto logger = std::make_shared<RecordingLogger>();
    Trainer(options, {.callbacks = {std::make_shared<LearningRateMonitor>()}, .loggers = {logger}}).fit(model, data);
    return rates_of(*logger);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(LearningRateInFitTest, RowOfAStepHasTheRateThatMadeIt) {
  HalvingModel model(ScheduleInterval::kStep);
  TinyData data(8, 1);
  EXPECT_THAT(fit(model, data, {.max_epochs = 1, .accumulate_grad_batches = 2}),
              ElementsAre(std::pair(0, 1.0), std::pair(1, 0.5), std::pair(2, 0.25), std::pair(3, 0.125)));
  EXPECT_EQ(model.weight(), -1.875);  // the sum of the rates
}

TEST_F(LearningRateInFitTest, RowOfAnEpochHasTheRateOfTheEpoch) {
  HalvingModel model(ScheduleInterval::kEpoch);
  TinyData data(3, 1);
  EXPECT_THAT(fit(model, data, {.max_epochs = 2}), ElementsAre(std::pair(2, 1.0), std::pair(5, 0.5)));
}

// Micro-batches done at the end of each optimizer step.
struct StepBorders {
  std::shared_ptr<Callback> callback() {
    return std::make_shared<LambdaCallback>(LambdaCallback::Hooks{
        .on_train_batch_end =
            [this](const RunContext& run, const StepOutput&, const Batch&) {
              ++num_batches;
              if (run.state.global_step > static_cast<int64_t>(borders.size())) borders.push_back(num_batches);
            },
    });
  }
  int64_t num_batches = 0;
  std::vector<int64_t> borders;
};

TEST(CallbacksInFitTest, AccumulationFollowsTheEpochs) {
  StepBorders steps;
  TinyModel model;
  TinyData data(4, 1);
  const GradientAccumulationScheduler::Options options = {.scheduling = {{0, 4}, {1, 2}, {2, 1}}};
  Trainer(quiet({.max_epochs = 3}),
          {.callbacks = {std::make_shared<GradientAccumulationScheduler>(options), steps.callback()}})
      .fit(model, data);
  EXPECT_THAT(steps.borders, ElementsAre(4, 6, 8, 9, 10, 11, 12));
}

TEST(CallbacksInFitTest, AccumulationFollowsTheStepsWithinAnEpoch) {
  StepBorders steps;
  TinyModel model;
  TinyData data(10, 1);
  const GradientAccumulationScheduler::Options options = {.by_step = {{1, 2}, {2, 4}, {3, 3}}};
  Trainer(quiet({.max_epochs = 1}),
          {.callbacks = {std::make_shared<GradientAccumulationScheduler>(options), steps.callback()}})
      .fit(model, data);
  EXPECT_THAT(steps.borders, ElementsAre(1, 3, 7, 10));
}

// A clock that goes on by a second with each batch. A checkpoint is saved after 4 of them.
struct BatchClock {
  std::shared_ptr<Timer> timer(const std::string& duration) {
    return std::make_shared<Timer>(Timer::Options{.duration = duration}, [this] { return now; });
  }
  FitResult fit(const TrainerOptions& options, const std::shared_ptr<Timer>& timer, const std::string& resume) {
    const auto tick = std::make_shared<LambdaCallback>(LambdaCallback::Hooks{
        .on_train_batch_start = [this](const RunContext&, const Batch&) { now += 1.0; },
        .on_train_batch_end =
            [](const RunContext& run, const StepOutput&, const Batch&) {
              if (run.state.global_step == 4) run.control.save_checkpoint(run.run_dir / "checkpoints" / "four");
            },
    });
    TinyModel model;
    TinyData data(3, 1);
    return Trainer(options, {.callbacks = {tick, timer}}).fit(model, data, resume);
  }
  double now = 0.0;
};

TEST(CallbacksInFitTest, TimeIsLimitedOverAllPartsOfARun) {
  const TemporaryFolder folder;
  TrainerOptions options = quiet({.max_epochs = 100});
  options.enable_checkpointing = true;
  options.enable_report = false;
  options.default_root_dir = folder.path;
  BatchClock clock;
  const FitResult first = clock.fit(options, clock.timer("6s"), "");
  EXPECT_EQ(first.status, FitStatus::kStoppedEarly);
  EXPECT_EQ(first.num_steps, 6);
  const std::string resume = (first.run_dir / "checkpoints" / "four").string();
  const auto timer = clock.timer("9s");
  EXPECT_EQ(clock.fit(options, timer, resume).num_steps, 9);
  EXPECT_EQ(timer->time_elapsed().count(), 9.0);
  EXPECT_EQ(clock.fit(options, clock.timer("3s"), resume).num_steps, 4);  // it is over already
}

// The cells of each row of metrics.csv that has a value of that name.
std::vector<double> csv_values(const std::filesystem::path& path, const std::string& name) {
  std::ifstream file(path);
  std::vector<double> values;
  std::string line;
  std::optional<size_t> column;
  for (bool is_header = true; std::getline(file, line); is_header = false) {
    std::istringstream cells(line);
    std::string cell;
    for (size_t i = 0; std::getline(cells, cell, ','); ++i) {
      if (is_header && cell == name) column = i;
      if (!is_header && i == column && !cell.empty()) values.push_back(std::stod(cell));
    }
  }
  return values;
}

TEST(CallbacksInFitTest, StatisticsAreColumnsOfTheLog) {
  const TemporaryFolder folder;
  TrainerOptions options = quiet({.max_epochs = 1, .log_every_n_steps = 2});
  options.logger = true;
  options.enable_report = false;
  options.default_root_dir = folder.path;
  const auto throughput = std::make_shared<ThroughputMonitor>(
      ThroughputMonitor::Options{.flops_per_sample = 4.0, .tokens_per_sample = 16.0, .measure_peak = true});
  TinyModel model;
  TinyData data(6, 1);
  const FitResult result =
      Trainer(options, {.callbacks = {std::make_shared<DeviceStats>(), throughput}}).fit(model, data);
  const std::filesystem::path csv = result.run_dir / "metrics.csv";
  for (const char* name : {"host/resident_bytes", "host/cpu_percent", "host/available_bytes", "host/threads",
                           "throughput/tokens_per_second", "throughput/peak_share"}) {
    EXPECT_THAT(csv_values(csv, name), AllOf(SizeIs(3), Each(Ge(0.0)))) << name;
  }
  EXPECT_THAT(csv_values(csv, "host/resident_bytes"), Each(Gt(1e6)));
  EXPECT_THAT(csv_values(csv, "throughput/peak_share"), Each(AllOf(Gt(0.0), Lt(1.0))));
  EXPECT_TRUE(csv_values(csv, "device/allocated_bytes").empty());
}

// What the callbacks measure must not show in the weights.
TEST(CallbacksInFitTest, StatisticsLeaveTheTrainingAsItIs) {
  const auto fit = [](std::vector<std::shared_ptr<Callback>> callbacks) {
    Trainer trainer(quiet({.max_epochs = 2, .seed = 7}), {.callbacks = std::move(callbacks)});
    TinyModel model([](TinyModel& m, const Batch& batch, StepContext&) {
      return m.loss(batch) * at::rand({});  // as dropout draws
    });
    TinyData data(6, 2);
    data.shuffles = true;
    trainer.fit(model, data);
    return model.weight();
  };
  const auto throughput =
      std::make_shared<ThroughputMonitor>(ThroughputMonitor::Options{.flops_per_sample = 4.0, .measure_peak = true});
  EXPECT_EQ(fit({std::make_shared<DeviceStats>(), throughput}), fit({}));
}

TEST(CallbacksInFitTest, TwoWithOneStateAreAnErrorBeforeTheTraining) {
  const auto make = [] { return std::make_shared<ThroughputMonitor>(); };
  try {
    const Trainer trainer(quiet({.max_epochs = 1}), {.callbacks = {make(), make()}});
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("two callbacks keep their state as \"ThroughputMonitor\""));
  }
}

}  // namespace
}  // namespace levin
