#include "callbacks/loss_guard.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/callbacks/fake_run.h"
#include "tests/callbacks/tiny_module.h"

namespace levin {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

at::Tensor scalar(double value) { return at::full({}, value, at::kDouble); }

// All ranks of a world of two, of which the other one always adds `other`.
class WorldOfTwo final : public Communicator {
 public:
  int64_t rank() const override { return 0; }
  int64_t world_size() const override { return 2; }
  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    tensor.add_(at::tensor(other, at::kDouble));
    if (op == ReduceOp::kMean) tensor.div_(2.0);
  }
  void broadcast(at::Tensor& /*tensor*/, int64_t /*source*/) override {}
  void barrier() override {}
  std::vector<double> other;
};

// A fit that is played by hand, one micro-batch a step.
class LossGuardTest : public testing::Test {
 protected:
  LossGuardTest() { run.module = module.get(); }

  RunContext train() { return run.context(Stage::kTrain); }

  void step(LossGuard& guard, double loss) {
    guard.on_train_batch_start(train(), Batch());
    guard.on_before_backward(train(), scalar(loss));
    const int64_t num_skipped = run.control.num_skipped_steps;
    guard.on_before_optimizer_step(train());
    guard.on_before_zero_grad(train());
    if (run.control.num_skipped_steps == num_skipped) ++run.state.global_step;
    guard.on_train_batch_end(train(), StepOutput(scalar(loss)), Batch());
    ++run.state.batch_idx;
  }
  // Losses 1, 3, 1, 3: mean 2, standard deviation 1.
  void warm_up(LossGuard& guard) {
    guard.on_train_start(train());
    for (const double loss : {1.0, 3.0, 1.0, 3.0}) step(guard, loss);
  }
  std::string error_of_step(LossGuard& guard, double loss) {
    try {
      step(guard, loss);
    } catch (const DivergenceError& error) {
      return error.what();
    }
    return "";
  }

  // Spikes are above 2 + 3 * 1 = 5 after four values.
  LossGuard::Options options = {.window = 4, .warmup = 4, .num_std = 3.0, .ratio = std::nullopt};
  std::shared_ptr<TinyModule> module = std::make_shared<TinyModule>();
  FakeRun run;
};

TEST_F(LossGuardTest, StopNamesStepBatchValueAndWindow) {
  LossGuard guard(options);
  warm_up(guard);
  EXPECT_EQ(error_of_step(guard, 5.5),
            "[LossGuard] The loss must be finite and near the values before it, got 5.5 in batch 4 of epoch 0 after 5 "
            "optimizer steps; the mean of the last 4 values is 2, their standard deviation 1. Look at this batch, "
            "lower the learning rate, or clip gradients.");
}

TEST_F(LossGuardTest, ValueAtTheLimitIsNoSpike) {
  LossGuard guard(options);
  warm_up(guard);
  EXPECT_EQ(error_of_step(guard, 5.0), "");
}

TEST_F(LossGuardTest, SpikeMustExceedBothLimitsIfBothAreSet) {
  options.ratio = 3.0;  // above 6
  LossGuard guard(options);
  warm_up(guard);
  EXPECT_EQ(error_of_step(guard, 5.9), "");
}

TEST_F(LossGuardTest, LossThatIsNotFiniteStopsWithinTheWarmup) {
  LossGuard guard;
  guard.on_train_start(train());
  EXPECT_NE(error_of_step(guard, kNan).find("got nan in batch 0"), std::string::npos);
  EXPECT_NE(error_of_step(guard, std::numeric_limits<double>::infinity()), "");
}

TEST_F(LossGuardTest, LargeLossWithinTheWarmupIsNoSpike) {
  LossGuard guard(options);
  guard.on_train_start(train());
  for (const double loss : {1.0, 1.0, 1.0, 1000.0}) EXPECT_EQ(error_of_step(guard, loss), "");
}

// The sum 12 over 6 tokens is the loss 2.
TEST_F(LossGuardTest, WeightedLossIsItsQuotient) {
  LossGuard guard(options);
  warm_up(guard);
  EXPECT_NO_THROW(guard.on_train_batch_end(train(), StepOutput(scalar(12.0), 6.0), Batch()));
}

TEST_F(LossGuardTest, NoLossIsMissedBetweenTwoChecks) {
  options.check_every_n_batches = 4;
  LossGuard guard(options);
  warm_up(guard);
  EXPECT_EQ(error_of_step(guard, 2.0), "");
  EXPECT_EQ(error_of_step(guard, 9.0), "") << "not read yet";
  EXPECT_EQ(error_of_step(guard, 2.0), "");
  EXPECT_NE(error_of_step(guard, 2.0).find("got 9 in batch 5"), std::string::npos);
  step(guard, 9.0);
  EXPECT_THROW(guard.on_train_epoch_end(train()), DivergenceError) << "the epoch's rest";
}

TEST_F(LossGuardTest, SkipLeavesTheStepOutAndItsValueOutOfTheWindow) {
  options.policy = "skip";
  LossGuard guard(options);
  warm_up(guard);
  step(guard, 5.5);
  EXPECT_EQ(run.control.num_skipped_steps, 1);
  EXPECT_EQ(run.control.logged.find("loss_guard_triggers"), 1.0);
  step(guard, 5.5);
  EXPECT_EQ(run.control.num_skipped_steps, 2) << "the window is as before";
  step(guard, 2.0);
  EXPECT_EQ(run.control.num_skipped_steps, 2);
}

// Two micro-batches of half the loss each: 1.5 + 4 = 5.5.
TEST_F(LossGuardTest, SkipJudgesTheSumOfTheMicroBatches) {
  options.policy = "skip";
  LossGuard guard(options);
  warm_up(guard);
  guard.on_before_backward(train(), scalar(1.5));
  guard.on_before_backward(train(), scalar(4.0));
  guard.on_before_optimizer_step(train());
  EXPECT_EQ(run.control.num_skipped_steps, 1);
}

TEST_F(LossGuardTest, SkipsInARowEndTheRunAndAGoodStepStartsAnew) {
  options.policy = "skip";
  options.max_times = 2;
  LossGuard guard(options);
  warm_up(guard);
  for (const double loss : {kNan, kNan, 2.0, kNan, kNan}) EXPECT_EQ(error_of_step(guard, loss), "");
  EXPECT_NE(error_of_step(guard, kNan).find("This is time 3 in a row, and max_times is 2."), std::string::npos);
}

TEST_F(LossGuardTest, GradientsAreWatchedToo) {
  options.policy = "skip";
  options.check_gradients = true;
  LossGuard guard(options);
  module->weight.mutable_grad() = at::tensor({3.0F, 4.0F});
  warm_up(guard);
  step(guard, 2.0);
  EXPECT_EQ(run.control.num_skipped_steps, 0);
  module->weight.mutable_grad() = at::tensor({30.0F, 40.0F});
  step(guard, 2.0);
  EXPECT_EQ(run.control.num_skipped_steps, 1);
}

TEST_F(LossGuardTest, GradientSpikeStopsBeforeTheStep) {
  options.check_gradients = true;
  LossGuard guard(options);
  module->weight.mutable_grad() = at::tensor({3.0F, 4.0F});
  warm_up(guard);
  module->weight.mutable_grad() = at::tensor({30.0F, 40.0F});
  const int64_t step_before = run.state.global_step;
  EXPECT_NE(error_of_step(guard, 2.0).find("The gradient norm must be finite and near the values before it, got 50 "),
            std::string::npos);
  EXPECT_EQ(run.state.global_step, step_before);
}

TEST_F(LossGuardTest, GoBackAsksForTheLastCheckpointUntilMaxTimes) {
  options.policy = "go_back";
  options.max_times = 2;
  LossGuard guard(options);
  warm_up(guard);
  run.control.saved = {"step=2", "step=4"};
  step(guard, 9.0);  // step 5
  EXPECT_EQ(run.control.went_back_to, (std::vector<std::filesystem::path>{"step=4"}));
  run.state.global_step = 4;
  step(guard, 2.0);  // step 5 again: not past it yet
  step(guard, 9.0);
  run.state.global_step = 4;
  EXPECT_NE(error_of_step(guard, 9.0).find("time 3 in a row"), std::string::npos);
  EXPECT_EQ(run.control.went_back_to.size(), 2u);
}

TEST_F(LossGuardTest, GettingPastTheStepOfTheTriggerStartsAnew) {
  options.policy = "go_back";
  options.max_times = 1;
  LossGuard guard(options);
  warm_up(guard);
  run.control.saved = {"step=4"};
  step(guard, 9.0);
  run.state.global_step = 4;
  step(guard, 2.0);
  step(guard, 2.0);  // step 6
  EXPECT_EQ(error_of_step(guard, 99.0), "");
  EXPECT_EQ(run.control.went_back_to.size(), 2u);
}

TEST_F(LossGuardTest, GoBackWithoutACheckpointIsAnError) {
  options.policy = "go_back";
  LossGuard guard(options);
  warm_up(guard);
  EXPECT_NE(error_of_step(guard, kNan).find("There is no checkpoint to go back to yet."), std::string::npos);
}

// The other rank has the loss 9: (2 + 9) / 2 = 5.5.
TEST_F(LossGuardTest, RanksDecideByTheirMean) {
  LossGuard guard(options);
  warm_up(guard);
  WorldOfTwo world;
  world.other = {9.0, 1.0};
  run.communicator = &world;
  EXPECT_NE(error_of_step(guard, 2.0).find("got 5.5"), std::string::npos);
  world.other = {kNan, 1.0};
  EXPECT_NE(error_of_step(guard, 2.0).find("got nan"), std::string::npos) << "a rank that fails stops all";
}

TEST_F(LossGuardTest, RankWithoutALossDoesNotCount) {
  LossGuard guard(options);
  warm_up(guard);
  WorldOfTwo world;
  world.other = {5.5, 1.0};
  run.communicator = &world;
  EXPECT_THROW(guard.on_train_batch_end(train(), StepOutput::skip(), Batch()), DivergenceError);
}

TEST_F(LossGuardTest, ScaledLossIsOnlyCheckedForBeingFinite) {
  run.options.precision = "16-mixed";
  options.policy = "skip";
  EXPECT_THROW(LossGuard(options).on_train_start(train()), ConfigError);
  options.check_gradients = true;
  LossGuard guard(options);
  warm_up(guard);
  step(guard, 1000.0);
  EXPECT_EQ(run.control.num_skipped_steps, 0);
  step(guard, kNan);
  EXPECT_EQ(run.control.num_skipped_steps, 1);
}

TEST_F(LossGuardTest, ResumedGuardGoesOnExactly) {
  options.check_every_n_batches = 3;
  LossGuard guard(options);
  warm_up(guard);
  step(guard, 9.0);  // not read yet: two of three
  LossGuard resumed(options);
  resumed.load_state(guard.state());
  resumed.on_train_start(train());
  const int64_t batch_idx = run.state.batch_idx;
  const std::string expected = error_of_step(guard, 2.0);
  run.state.batch_idx = batch_idx;
  EXPECT_NE(expected.find("got 9 in batch 4"), std::string::npos) << expected;
  EXPECT_EQ(error_of_step(resumed, 2.0), expected);
}

TEST_F(LossGuardTest, StateLoadedDuringAFitDoesNotForgetTheTriggers) {
  options.policy = "go_back";
  options.max_times = 1;
  LossGuard guard(options);
  warm_up(guard);
  run.control.saved = {"step=4"};
  const StateDict before = guard.state();
  step(guard, kNan);
  guard.load_state(before);
  run.state.global_step = 4;
  EXPECT_NE(error_of_step(guard, kNan).find("time 2 in a row"), std::string::npos);
}

TEST(LossGuardOptionsTest, WrongOptionsAreErrors) {
  EXPECT_THROW(LossGuard({.policy = "ignore"}), ConfigError);
  EXPECT_THROW(LossGuard({.window = 10, .warmup = 11}), ConfigError);
  EXPECT_THROW(LossGuard({.policy = "skip", .check_every_n_batches = 2}), ConfigError);
}

}  // namespace
}  // namespace levin
