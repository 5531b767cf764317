#include "callbacks/stochastic_weight_averaging.h"

#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include "tests/callbacks/fake_run.h"
#include "tests/callbacks/tiny_module.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using Swa = StochasticWeightAveraging;

// A fit that is played by hand, one step an epoch.
class SwaTest : public testing::Test {
 protected:
  SwaTest() {
    run.module = module.get();
    run.optimizers = &optimizers;
    run.max_epochs = 5;
  }

  RunContext train() { return run.context(Stage::kTrain); }
  double learning_rate() { return optimizers[0].param_groups()[0].options().get_lr(); }
  void set_learning_rate(double value) { optimizers[0].param_groups()[0].options().set_lr(value); }

  void start(Swa& swa) {
    swa.on_fit_start(train());
    swa.on_train_start(train());
  }
  // Returns the learning rate of its step. `scheduled`: what a schedule sets before the step.
  double epoch(Swa& swa, double weight, std::optional<double> scheduled = std::nullopt) {
    swa.on_train_epoch_start(train());
    if (scheduled) set_learning_rate(*scheduled);
    swa.on_train_batch_start(train(), Batch());
    swa.on_before_optimizer_step(train());
    const double used = learning_rate();
    module->set_weight(weight);
    ++run.state.global_step;
    swa.on_train_epoch_end(train());
    ++run.state.epoch;
    return used;
  }
  double average(Swa& swa) {
    swa.on_validation_start(run.context(Stage::kValidate));
    const double value = module->value();
    swa.on_validation_end(run.context(Stage::kValidate));
    return value;
  }

  std::shared_ptr<TinyModule> module = std::make_shared<TinyModule>();
  Optimizers optimizers{std::make_unique<torch::optim::SGD>(module->parameters(), 0.5)};
  FakeRun run;
};

// max_epochs 5, start 0.4: epochs 0 and 1 are not averaged. (2 + 4 + 9) / 3 = 5.
TEST_F(SwaTest, LastEpochsAreAveragedWithEqualShares) {
  Swa swa({.start = 0.4});
  start(swa);
  epoch(swa, 100.0);
  epoch(swa, 50.0);
  EXPECT_EQ(average(swa), 50.0) << "no average yet";
  epoch(swa, 2.0);
  EXPECT_EQ(average(swa), 2.0);
  epoch(swa, 4.0);
  EXPECT_EQ(average(swa), 3.0);
  epoch(swa, 9.0);
  EXPECT_FLOAT_EQ(average(swa), 5.0);
  EXPECT_EQ(module->value(), 9.0);
  swa.on_train_end(train());
  EXPECT_FLOAT_EQ(module->value(), 5.0);
}

// From 0.5 to 0.1 in 4 epochs: 0.1 + 0.4 * (1 + cos(pi * t)) / 2 at t = 0, 1/4, 1/2, 3/4, 1.
TEST_F(SwaTest, LearningRateIsAnnealedByACosine) {
  Swa swa({.swa_lr = 0.1, .start = 0, .annealing_epochs = 4});
  start(swa);
  for (const double expected : {0.5, 0.441421356, 0.3, 0.158578644, 0.1}) EXPECT_NEAR(epoch(swa, 0.0), expected, 1e-9);
}

TEST_F(SwaTest, LearningRateIsAnnealedLinearlyFromTheStartEpochOn) {
  Swa swa({.swa_lr = 0.1, .start = 2, .annealing_epochs = 2, .annealing_strategy = "linear"});
  start(swa);
  for (const double expected : {0.5, 0.5, 0.5, 0.3, 0.1}) EXPECT_NEAR(epoch(swa, 0.0), expected, 1e-12);
}

TEST_F(SwaTest, ScheduleHasNoEffectOnceTheAveragingHasBegun) {
  Swa swa({.swa_lr = 0.1, .start = 2, .annealing_epochs = 0});
  start(swa);
  EXPECT_EQ(epoch(swa, 0.0, 0.4), 0.4);
  EXPECT_EQ(epoch(swa, 0.0, 0.3), 0.3);
  EXPECT_EQ(epoch(swa, 0.0, 0.2), 0.1);
  EXPECT_EQ(epoch(swa, 0.0, 0.05), 0.1);
}

TEST_F(SwaTest, WithoutSwaLrTheLearningRateOfTheStartIsKept) {
  Swa swa({.start = 1});
  start(swa);
  epoch(swa, 0.0, 0.4);
  EXPECT_EQ(epoch(swa, 0.0, 0.2), 0.4);
}

TEST_F(SwaTest, ResumedFitGoesOnExactly) {
  Swa whole({.swa_lr = 0.1, .start = 1, .annealing_epochs = 3});
  start(whole);
  epoch(whole, 1.0);
  epoch(whole, 2.3);
  epoch(whole, 3.1);
  StateDict state;
  for (const auto& [name, value] : whole.state()) {
    const auto* tensor = std::get_if<at::Tensor>(&value);
    state.set(name, tensor != nullptr ? StateDict::Value(tensor->clone()) : value);
  }
  const double saved_rate = learning_rate();
  const double expected_rate = epoch(whole, 7.7);
  const double expected = average(whole);

  module->set_weight(2.7);  // the average, as a checkpoint holds it
  run.state.epoch = 3;
  set_learning_rate(saved_rate);
  Swa resumed({.swa_lr = 0.1, .start = 1, .annealing_epochs = 3});
  resumed.load_state(state);
  start(resumed);
  EXPECT_EQ(module->value(), static_cast<float>(3.1));
  EXPECT_EQ(epoch(resumed, 7.7), expected_rate);
  EXPECT_EQ(average(resumed), expected);
}

TEST_F(SwaTest, FractionOfUnlimitedEpochsIsAnError) {
  run.max_epochs = std::nullopt;
  Swa swa;
  swa.on_fit_start(train());
  EXPECT_THROW(swa.on_train_start(train()), ConfigError);
}

TEST_F(SwaTest, StartBehindTheEndIsAnError) {
  Swa swa({.start = 5});
  swa.on_fit_start(train());
  EXPECT_THROW(swa.on_train_start(train()), ConfigError);
}

TEST(SwaOptionsTest, WrongOptionsAreErrors) {
  EXPECT_THROW(Swa({.swa_lr = 0.0}), ConfigError);
  EXPECT_THROW(Swa({.start = 1.5}), ConfigError);
  EXPECT_THROW(Swa({.annealing_strategy = "cosine"}), ConfigError);
}

}  // namespace
}  // namespace levin
