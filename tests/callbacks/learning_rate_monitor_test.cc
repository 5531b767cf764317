#include "callbacks/learning_rate_monitor.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <utility>

#include "callbacks/optimizer_values.h"
#include "tests/callbacks/fake_run.h"
#include "trainer/core/error.h"
#include "trainer/core/group_options.h"

namespace levin {
namespace {

using Group = torch::optim::OptimizerParamGroup;

std::vector<at::Tensor> one_parameter() { return {at::zeros({1})}; }

// An optimizer whose options are of Levin's kind.
struct LionFields {
  double lr = 0.5;
  std::vector<double> betas = {0.875, 0.75};
  double weight_decay = 0.25;
  void visit(OptionVisitor& visitor) {
    visitor.field("lr", lr, "");
    visitor.field("betas", betas, "");
    visitor.field("weight_decay", weight_decay, "");
  }
};

template <class Fields>
struct StillOptimizer : Optimizer {
  explicit StillOptimizer(size_t num_groups = 1)
      : Optimizer(std::vector<Group>(num_groups, Group(one_parameter())),
                  std::make_unique<GroupOptions<Fields>>(Fields())) {}
  at::Tensor step(LossClosure /*closure*/ = nullptr) override { return {}; }
};

struct Lion : StillOptimizer<LionFields> {
  using StillOptimizer::StillOptimizer;
};

// Options without a learning rate.
struct BareOptions : torch::optim::OptimizerCloneableOptions<BareOptions> {};
struct BareOptimizer : Optimizer {
  BareOptimizer() : Optimizer(std::vector<Group>{Group(one_parameter())}, std::make_unique<BareOptions>()) {}
  at::Tensor step(LossClosure /*closure*/ = nullptr) override { return {}; }
};

struct SteadySchedule : Schedule {
  double learning_rate(double base_lr, int64_t /*step*/) const override { return base_lr; }
};

std::unique_ptr<torch::optim::SGD> sgd(double rate) {
  return std::make_unique<torch::optim::SGD>(one_parameter(),
                                             torch::optim::SGDOptions(rate).momentum(0.5).weight_decay(0.125));
}

class LearningRateMonitorTest : public testing::Test {
 protected:
  LearningRateMonitorTest() { run.optimizers = &optimizers; }
  RunContext train() { return run.context(Stage::kTrain); }
  void step(LearningRateMonitor& monitor) {
    monitor.on_train_batch_start(train(), Batch());
    monitor.on_before_optimizer_step(train());
  }
  // What it logs at the start of an epoch, and in the step after it.
  std::pair<Metrics, Metrics> logged(const LearningRateMonitor::Options& options) {
    LearningRateMonitor monitor(options);
    monitor.on_train_start(train());
    EXPECT_TRUE(run.control.logged.empty());  // no row is written for that hook
    monitor.on_train_epoch_start(train());
    const Metrics by_epoch = std::exchange(run.control.logged, {});
    step(monitor);
    return {by_epoch, std::exchange(run.control.logged, {})};
  }

  Optimizers optimizers;
  FakeRun run;
};

TEST_F(LearningRateMonitorTest, NamesTellOptimizersAndGroupsApart) {
  optimizers.add(sgd(0.5)).add(std::make_unique<Lion>(2)).add(sgd(0.25)).add(sgd(0.125));
  const Metrics metrics = logged({}).second;
  EXPECT_EQ(metrics.names(), "lr-SGD, lr-Lion/pg1, lr-Lion/pg2, lr-SGD-1, lr-SGD-2");
  EXPECT_EQ(metrics.find("lr-SGD"), 0.5);
  EXPECT_EQ(metrics.find("lr-Lion/pg2"), 0.5);
  EXPECT_EQ(metrics.find("lr-SGD-1"), 0.25);
  EXPECT_EQ(metrics.find("lr-SGD-2"), 0.125);
}

TEST_F(LearningRateMonitorTest, NamespacesAndTemplateArgumentsAreNoPartOfTheName) {
  EXPECT_EQ(class_name_of(*sgd(0.5)), "SGD");
  EXPECT_EQ(class_name_of(Lion()), "Lion");
  EXPECT_EQ(class_name_of(StillOptimizer<LionFields>()), "StillOptimizer");
}

TEST_F(LearningRateMonitorTest, EachScheduleIsLoggedAsOftenAsItSteps) {
  const auto schedule = std::make_shared<SteadySchedule>();
  optimizers.add(sgd(0.5), ScheduleConfig{.schedule = schedule, .interval = ScheduleInterval::kEpoch});
  optimizers.add(std::make_unique<Lion>(), ScheduleConfig{.schedule = schedule});
  const auto [by_epoch, by_step] = logged({});
  EXPECT_EQ(by_epoch.names(), "lr-SGD");
  EXPECT_EQ(by_step.names(), "lr-Lion");
}

TEST_F(LearningRateMonitorTest, IntervalOverrulesTheSchedules) {
  optimizers.add(sgd(0.5),
                 ScheduleConfig{.schedule = std::make_shared<SteadySchedule>(), .interval = ScheduleInterval::kEpoch});
  optimizers.add(std::make_unique<Lion>());
  const auto [no_epoch, by_step] = logged({.logging_interval = "step"});
  EXPECT_TRUE(no_epoch.empty());
  EXPECT_EQ(by_step.names(), "lr-SGD, lr-Lion");
  const auto [by_epoch, no_step] = logged({.logging_interval = "epoch"});
  EXPECT_EQ(by_epoch.names(), "lr-SGD, lr-Lion");
  EXPECT_TRUE(no_step.empty());
}

// A mean over the steps of an epoch would be no rate that was ever used.
TEST_F(LearningRateMonitorTest, ValueOfAStepIsNotAveraged) {
  optimizers.add(sgd(0.5));
  LearningRateMonitor by_step;
  by_step.on_train_start(train());
  step(by_step);
  EXPECT_EQ(run.control.log_options.back().second.on_step, true);
  EXPECT_EQ(run.control.log_options.back().second.on_epoch, false);
  LearningRateMonitor by_epoch({.logging_interval = "epoch"});
  by_epoch.on_train_start(train());
  by_epoch.on_train_epoch_start(train());
  EXPECT_EQ(run.control.log_options.back().second.on_step, false);
  EXPECT_EQ(run.control.log_options.back().second.on_epoch, true);
}

TEST_F(LearningRateMonitorTest, NothingIsLoggedBetweenLoggingSteps) {
  optimizers.add(sgd(0.5));
  LearningRateMonitor monitor;
  monitor.on_train_start(train());
  run.is_logging_step = false;
  step(monitor);
  EXPECT_TRUE(run.control.log_options.empty());
}

TEST_F(LearningRateMonitorTest, FirstStepOfABatchCounts) {
  optimizers.add(sgd(0.5));
  LearningRateMonitor monitor;
  monitor.on_train_start(train());
  step(monitor);
  optimizers[0].param_groups()[0].options().set_lr(0.25);
  monitor.on_before_optimizer_step(train());
  EXPECT_EQ(run.control.logged.find("lr-SGD"), 0.5);
  step(monitor);
  EXPECT_EQ(run.control.logged.find("lr-SGD"), 0.25);
}

TEST_F(LearningRateMonitorTest, MomentumAndWeightDecayOfAllKindsOfOptions) {
  optimizers.add(sgd(0.5)).add(std::make_unique<Lion>(2));
  optimizers.add(std::make_unique<torch::optim::AdamW>(
      one_parameter(), torch::optim::AdamWOptions(0.0625).betas({0.75, 0.5}).weight_decay(0.375)));
  const Metrics metrics = logged({.log_momentum = true, .log_weight_decay = true}).second;
  EXPECT_EQ(metrics.size(), 12u);
  EXPECT_EQ(metrics.find("lr-SGD-momentum"), 0.5);
  EXPECT_EQ(metrics.find("lr-SGD-weight_decay"), 0.125);
  EXPECT_EQ(metrics.find("lr-Lion/pg2-momentum"), 0.875);
  EXPECT_EQ(metrics.find("lr-Lion/pg2-weight_decay"), 0.25);
  EXPECT_EQ(metrics.find("lr-AdamW-momentum"), 0.75);
  EXPECT_EQ(metrics.find("lr-AdamW-weight_decay"), 0.375);
}

TEST_F(LearningRateMonitorTest, OptionsWithoutTheValueLogNone) {
  optimizers.add(std::make_unique<BareOptimizer>());
  EXPECT_TRUE(logged({.log_momentum = true, .log_weight_decay = true}).second.empty());
}

TEST_F(LearningRateMonitorTest, GroupThatIsAddedLaterIsLogged) {
  optimizers.add(sgd(0.5));
  LearningRateMonitor monitor;
  monitor.on_train_start(train());
  optimizers[0].add_param_group(Group(one_parameter(), std::make_unique<torch::optim::SGDOptions>(0.25)));
  step(monitor);
  EXPECT_EQ(run.control.logged.names(), "lr-SGD/pg1, lr-SGD/pg2");
  EXPECT_EQ(run.control.logged.find("lr-SGD/pg2"), 0.25);
}

TEST(LearningRateMonitorOptionsTest, IntervalIsStepOrEpoch) {
  EXPECT_THROW(LearningRateMonitor({.logging_interval = "batch"}), ConfigError);
}

}  // namespace
}  // namespace levin
