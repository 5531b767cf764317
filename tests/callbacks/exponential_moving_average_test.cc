#include "callbacks/exponential_moving_average.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/callbacks/fake_run.h"
#include "tests/callbacks/tiny_module.h"
#include "trainer/core/error.h"
#include "trainer/core/module_state.h"

namespace levin {
namespace {

using Ema = ExponentialMovingAverage;

// A fit that is played by hand.
class EmaTest : public testing::Test {
 protected:
  EmaTest() { run.module = module.get(); }

  RunContext train() { return run.context(Stage::kTrain); }
  RunContext validation() { return run.context(Stage::kValidate); }

  void start(Ema& ema) {
    ema.setup(train());
    ema.on_fit_start(train());
    ema.on_train_start(train());
  }
  // One optimizer step that leaves `weight` in the module.
  void step(Ema& ema, double weight) {
    module->set_weight(weight);
    ++run.state.global_step;
    ema.on_train_batch_end(train(), StepOutput::skip(), Batch());
  }
  // What the validation measures.
  double average(Ema& ema) {
    ema.on_validation_start(validation());
    const double value = module->value();
    ema.on_validation_end(validation());
    return value;
  }
  StateDict saved_model(Ema& ema) {
    StateDict model = module_state(*module);
    ema.on_save_checkpoint(train(), model);
    return model;
  }

  std::shared_ptr<TinyModule> module = std::make_shared<TinyModule>();
  FakeRun run;
};

// 0 -> 0.25 * 8 = 2 -> 0.75 * 2 + 0.25 * 8 = 3.5: a tied tensor that was averaged twice would give 3.5 at once.
TEST_F(EmaTest, AverageFollowsTheRecursion) {
  Ema ema({.decay = 0.75});
  start(ema);
  step(ema, 8.0);
  EXPECT_EQ(average(ema), 2.0);
  step(ema, 8.0);
  EXPECT_EQ(average(ema), 3.5);
  EXPECT_EQ(module->value(), 8.0);
}

TEST_F(EmaTest, StepIsCountedOnceWhileGradientsAreAccumulated) {
  Ema ema({.decay = 0.5});
  start(ema);
  step(ema, 8.0);
  ema.on_train_batch_end(train(), StepOutput::skip(), Batch());
  EXPECT_EQ(average(ema), 4.0);
}

// Starts as 4 after step 2; the updates are those of steps 4 and 6: 0.5 * 4 + 0.5 * 8 = 6, then 7.
TEST_F(EmaTest, StartAndIntervalCountOptimizerSteps) {
  Ema ema({.decay = 0.5, .update_every_n_steps = 2, .start_step = 2});
  start(ema);
  step(ema, 100.0);
  EXPECT_EQ(average(ema), 100.0) << "no average yet";
  step(ema, 4.0);
  step(ema, 50.0);
  EXPECT_EQ(average(ema), 4.0);
  step(ema, 8.0);
  EXPECT_EQ(average(ema), 6.0);
  step(ema, 50.0);
  step(ema, 8.0);
  EXPECT_EQ(average(ema), 7.0);
}

// Decays 1/10, 2/11, then 3/12 is more than 0.2: 0 -> 9 -> 9 + 9/11 * (20 - 9) = 18 -> 0.2 * 18 + 0.8 * 8 = 10.
TEST_F(EmaTest, WarmupLetsTheDecayGrow) {
  Ema ema({.decay = 0.2, .warmup = true});
  start(ema);
  step(ema, 10.0);
  EXPECT_NEAR(average(ema), 9.0, 1e-5);
  step(ema, 20.0);
  EXPECT_NEAR(average(ema), 18.0, 1e-5);
  step(ema, 8.0);
  EXPECT_NEAR(average(ema), 10.0, 1e-5);
}

TEST_F(EmaTest, FloatingBuffersAreAveragedUnlessToldOtherwise) {
  Ema ema({.decay = 0.5});
  Ema without({.decay = 0.5, .average_buffers = false});
  start(ema);
  start(without);
  module->mean.fill_(8.0);
  module->count.fill_(3);
  ++run.state.global_step;
  for (Ema* each : {&ema, &without}) each->on_train_batch_end(train(), StepOutput::skip(), Batch());
  EXPECT_EQ(saved_model(ema).tensor("mean").item<double>(), 4.0);
  EXPECT_EQ(saved_model(ema).tensor("count").item<int64_t>(), 3);
  EXPECT_EQ(saved_model(without).tensor("mean").item<double>(), 8.0);
}

TEST_F(EmaTest, WeightsComeBackBitByBitWhenAValidationThrows) {
  Ema ema({.decay = 0.5});
  start(ema);
  step(ema, 0.1);
  const at::Tensor before = module->weight.detach().clone();
  ema.on_validation_start(validation());
  EXPECT_FALSE(at::equal(module->weight, before));
  ema.on_exception(validation(), std::runtime_error("no more data"));
  EXPECT_TRUE(at::equal(module->weight, before));
}

// 0.999 * 1 + 0.001 * 2 = 1.001, which bfloat16 rounds to 1: after 1000 steps the average must have moved all the same.
TEST_F(EmaTest, SmallUpdatesOfBfloat16WeightsAreNotLost) {
  module = std::make_shared<TinyModule>(at::kBFloat16);
  run.module = module.get();
  module->set_weight(1.0);
  Ema ema({.decay = 0.999});
  start(ema);
  for (int i = 0; i < 1000; ++i) step(ema, 2.0);
  EXPECT_NEAR(average(ema), 2.0 - 0.3677, 0.005);  // 0.999^1000 = 0.3677; bfloat16 has steps of 0.0078 here
  EXPECT_EQ(saved_model(ema).tensor("weight").scalar_type(), at::kBFloat16);
}

TEST_F(EmaTest, CheckpointHoldsTheAverageUnderAllNamesOfATiedTensor) {
  Ema ema({.decay = 0.75});
  start(ema);
  step(ema, 8.0);
  const StateDict model = saved_model(ema);
  EXPECT_EQ(model.size(), 4u);
  EXPECT_EQ(model.tensor("weight")[0].item<double>(), 2.0);
  EXPECT_EQ(model.tensor("weight").const_data_ptr(), model.tensor("tied").const_data_ptr());
  EXPECT_EQ(module->value(), 8.0) << "the live weights stay";
}

// The fit is saved after two of four steps, once in training and once within a validation.
TEST_F(EmaTest, ResumedFitGoesOnExactly) {
  for (const bool in_validation : {false, true}) {
    run.state.global_step = 0;
    module->set_weight(0.0);
    Ema whole({.decay = 0.7, .warmup = true});
    start(whole);
    step(whole, 0.3);
    step(whole, 1.7);
    if (in_validation) whole.on_validation_start(validation());
    StateDict model, state;
    for (const auto& [name, value] : saved_model(whole)) model.set(name, std::get<at::Tensor>(value).clone());
    for (const auto& [name, value] : whole.state()) {
      const auto* tensor = std::get_if<at::Tensor>(&value);
      state.set(name, tensor != nullptr ? StateDict::Value(tensor->clone()) : value);
    }
    if (in_validation) whole.on_validation_end(validation());
    step(whole, 2.9);
    const double expected = average(whole);

    load_module_state(*module, model);
    run.state.global_step = 2;
    Ema resumed({.decay = 0.7, .warmup = true});
    resumed.load_state(state);
    start(resumed);
    EXPECT_EQ(module->value(), static_cast<float>(1.7)) << "the weights of the training";
    step(resumed, 2.9);
    EXPECT_EQ(average(resumed), expected);
  }
}

TEST_F(EmaTest, StateLoadedDuringAFitPutsWeightsAndAverageBack) {
  Ema ema({.decay = 0.5});
  start(ema);
  step(ema, 4.0);
  StateDict state;
  for (const auto& [name, value] : ema.state()) {
    const auto* tensor = std::get_if<at::Tensor>(&value);
    state.set(name, tensor != nullptr ? StateDict::Value(tensor->clone()) : value);
  }
  step(ema, 100.0);
  ema.load_state(state);
  EXPECT_EQ(module->value(), 4.0);
  EXPECT_EQ(average(ema), 2.0);
}

TEST_F(EmaTest, AverageStaysInTheModuleAfterTheTrainingAndTheStateKeepsTheWeights) {
  Ema ema({.decay = 0.5});
  start(ema);
  step(ema, 4.0);
  ema.on_train_end(train());
  EXPECT_EQ(module->value(), 2.0);
  EXPECT_EQ(ema.state().tensor("weight.weight")[0].item<double>(), 4.0);
  EXPECT_EQ(saved_model(ema).tensor("weight")[0].item<double>(), 2.0);
  ema.teardown(train());
  EXPECT_EQ(module->value(), 2.0);
}

TEST_F(EmaTest, StateOfAnotherShapeIsAnErrorThatNamesIt) {
  Ema ema;
  start(ema);
  StateDict state;
  state.set("has_average", int64_t{1});
  state.set("num_updates", int64_t{1});
  state.set("seen_step", int64_t{1});
  state.set("weight.weight", at::zeros({3}));
  try {
    ema.load_state(state);
    FAIL() << "no error";
  } catch (const CheckpointError& error) {
    EXPECT_STREQ(error.what(), "[AveragedWeights] weight.weight must have the shape [2] of the module, got [3].");
  }
}

TEST(EmaOptionsTest, AllWrongOptionsAreNamedAtOnce) {
  try {
    Ema ema({.decay = 1.5, .update_every_n_steps = 0});
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("decay"), std::string::npos) << text;
    EXPECT_NE(text.find("update_every_n_steps"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace levin
