#include "trainer/fit_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

using Names = std::vector<std::string>;

// 3 batches of 2 samples.
TinyData three_batches() { return TinyData(6, 2); }

// A callback that asks for the end after step number `step`.
std::shared_ptr<HookCallback> stop_at_step(int64_t step) {
  auto callback = std::make_shared<HookCallback>();
  callback->batch_end = [step](const RunContext& run, const StepOutput& /*output*/) {
    if (run.state.global_step == step) run.control.request_stop("test");
  };
  return callback;
}

// Field case A1, one process.
TEST(FitLoopTest, OneStepGivesTheWeightByHand) {
  TinyModel model;
  TinyData data;
  Trainer trainer(quiet({.max_epochs = 1}));
  const FitResult result = trainer.fit(model, data);
  EXPECT_NEAR(model.weight(), 0.30, 1e-6);
  EXPECT_EQ(result.status, FitStatus::kFinished);
  EXPECT_EQ(result.num_steps, 1);
  EXPECT_EQ(result.num_epochs, 1);
  EXPECT_EQ(result.run_dir, "");
}

TEST(FitLoopTest, BeforeTheStepThereAreGradientsAndTheOldWeight) {
  TinyModel model;
  TinyData data;
  const auto callback = std::make_shared<HookCallback>();
  double gradient = 0.0;
  double weight = -1.0;
  callback->before_step = [&](const RunContext& run) {
    gradient = model.w.grad().item<double>();
    weight = model.weight();
    EXPECT_EQ(run.state.global_step, 0);
  };
  callback->batch_end = [&](const RunContext& run, const StepOutput& /*output*/) {
    EXPECT_EQ(run.state.global_step, 1);
    EXPECT_EQ(run.state.batch_idx, 0);
    EXPECT_EQ(run.state.num_samples, 4);
  };
  Trainer(quiet({.max_epochs = 1}), {.callbacks = {callback}}).fit(model, data);
  EXPECT_DOUBLE_EQ(gradient, -30.0);
  EXPECT_EQ(weight, 0.0);
}

// Field case B9: each fit is ended by hand after one epoch.
TEST(FitLoopTest, CountersGoOnFromFitToFit) {
  TinyModel model;
  TinyData data = three_batches();
  const auto callback = std::make_shared<HookCallback>();
  callback->epoch_end = [](const RunContext& run) { run.control.request_stop("one epoch"); };
  Trainer trainer(quiet({}), {.callbacks = {callback}});
  for (int64_t fit = 1; fit <= 3; ++fit) {
    const FitResult result = trainer.fit(model, data);
    EXPECT_EQ(result.num_steps, 3 * fit);
    EXPECT_EQ(result.num_epochs, fit);
    EXPECT_EQ(trainer.state().global_step, 3 * fit);
    EXPECT_EQ(trainer.state().epoch, fit);
  }
  EXPECT_EQ(model.num_training_steps, 9);
  EXPECT_EQ(trainer.state().num_samples, 18);
}

TEST(FitLoopTest, StepsSeeTheirPlace) {
  std::vector<std::vector<int64_t>> places;
  TinyModel model([&](TinyModel& m, const Batch& batch, StepContext& ctx) {
    EXPECT_EQ(ctx.stage(), Stage::kTrain);
    places.push_back({ctx.epoch(), ctx.batch_idx(), ctx.global_step()});
    return m.loss(batch);
  });
  TinyData data(4, 2);
  Trainer(quiet({.max_epochs = 2})).fit(model, data);
  EXPECT_EQ(places, (std::vector<std::vector<int64_t>>{{0, 0, 0}, {0, 1, 1}, {1, 0, 2}, {1, 1, 3}}));
}

struct LimitCase {
  const char* what;
  TrainerOptions options;
  int64_t num_steps;
};

// Epochs have 3 batches.
TEST(FitLoopTest, LimitsEndTheFit) {
  const std::vector<LimitCase> cases = {
      {"max_epochs", {.max_epochs = 2}, 6},
      {"max_epochs 0", {.max_epochs = 0}, 0},
      {"max_steps within an epoch", {.max_steps = 4}, 4},
      {"max_steps first", {.max_epochs = 5, .max_steps = 2}, 2},
      {"max_epochs first", {.max_epochs = 1, .max_steps = 100}, 3},
      {"max_steps 0", {.max_steps = 0}, 0},
      {"a count of batches", {.max_epochs = 2, .limit_train_batches = 2}, 4},
      {"a count above the length", {.max_epochs = 2, .limit_train_batches = 10}, 6},
      {"a fraction of batches", {.max_epochs = 2, .limit_train_batches = 0.5}, 2},
      {"no batches", {.max_epochs = 2, .limit_train_batches = 0}, 0},
  };
  for (const LimitCase& c : cases) {
    TinyModel model;
    TinyData data = three_batches();
    const FitResult result = Trainer(quiet(c.options)).fit(model, data);
    EXPECT_EQ(result.num_steps, c.num_steps) << c.what;
    EXPECT_EQ(model.num_training_steps, c.num_steps) << c.what;
    EXPECT_EQ(result.status, FitStatus::kFinished) << c.what;
  }
}

TEST(FitLoopTest, ValidationIsDueEveryNEpochs) {
  std::vector<int64_t> epochs;
  TinyModel model;
  model.on_validation = [&](const Batch& /*batch*/, StepContext& ctx) { epochs.push_back(ctx.epoch()); };
  TinyData data;
  data.has_validation = true;
  Trainer(quiet({.max_epochs = 5, .check_val_every_n_epoch = 2, .num_sanity_val_steps = 0})).fit(model, data);
  EXPECT_EQ(epochs, std::vector<int64_t>({1, 3}));
}

TEST(FitLoopTest, LimitZeroLeavesValidationOut) {
  TinyModel model;
  model.on_validation = [](const Batch& /*batch*/, StepContext& /*ctx*/) { ADD_FAILURE() << "validated"; };
  TinyData data;
  data.has_validation = true;
  Trainer(quiet({.max_epochs = 1, .limit_val_batches = 0})).fit(model, data);
}

TEST(FitLoopTest, RequestedStopEndsTheFitAtTheNextStep) {
  TinyModel model;
  TinyData data = three_batches();
  Trainer trainer(quiet({.max_epochs = 5}), {.callbacks = {stop_at_step(2)}});
  const FitResult result = trainer.fit(model, data);
  EXPECT_EQ(result.status, FitStatus::kStoppedEarly);
  EXPECT_EQ(result.num_steps, 2);
  EXPECT_EQ(model.num_training_steps, 2);
}

TEST(FitLoopTest, RequestedStopStillValidates) {
  Names calls;
  TinyModel model;
  model.calls = &calls;
  TinyData data = three_batches();
  data.has_validation = true;
  Trainer(quiet({.max_epochs = 5, .num_sanity_val_steps = 0}), {.callbacks = {stop_at_step(1)}}).fit(model, data);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "module.validation_step"), 3);
}

TEST(FitLoopTest, ValidationDoesNotMoveTheTraining) {
  TinyModel model;
  TinyData data = three_batches();
  data.has_validation = true;
  const auto callback = std::make_shared<HookCallback>();
  callback->validation_end = [](const RunContext& run) {
    EXPECT_EQ(run.stage, Stage::kValidate);
    EXPECT_EQ(run.state.batch_idx, 3);
    EXPECT_EQ(run.num_batches, 3);
  };
  callback->epoch_end = [](const RunContext& run) {
    EXPECT_EQ(run.state.batch_idx, 3);
    EXPECT_EQ(run.state.num_samples, 6);
    EXPECT_EQ(run.state.global_step, 3);
  };
  Trainer(quiet({.max_epochs = 1, .num_sanity_val_steps = 0}), {.callbacks = {callback}}).fit(model, data);
}

// A loader that does not know its length, and has none.
struct EmptyLoader final : DataLoader {
  explicit EmptyLoader(std::optional<int64_t> length) : length_(length) {}
  void start_epoch(int64_t /*epoch*/) override {}
  std::optional<Batch> next() override { return std::nullopt; }
  std::optional<int64_t> num_batches() const override { return length_; }

 private:
  std::optional<int64_t> length_;
};

TEST(FitLoopTest, LoaderWithoutBatchesIsAnError) {
  for (const std::optional<int64_t> length : {std::optional<int64_t>(), std::optional<int64_t>(0)}) {
    TinyModel model;
    EmptyLoader loader(length);
    Trainer trainer(quiet({.max_epochs = 1}));
    EXPECT_THAT(thrown_text<DataError>([&] { trainer.fit(model, loader); }),
                testing::HasSubstr("the training loader delivered no batch"))
        << length.has_value();
  }
}

TEST(FitLoopTest, FractionOfAnUnknownLengthIsAnError) {
  TinyModel model;
  EmptyLoader loader(std::nullopt);
  Trainer trainer(quiet({.max_epochs = 1, .limit_train_batches = 0.5}));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.fit(model, loader); }), testing::HasSubstr("limit_train_batches"));
}

// Left over from the user's own backward, or from a fit that failed.
TEST(FitLoopTest, GradientsFromBeforeTheFitDoNotCount) {
  TinyModel model;
  model.w.mutable_grad() = torch::full({1, 1}, 1000.0);
  TinyData data;
  Trainer(quiet({.max_epochs = 1})).fit(model, data);
  EXPECT_NEAR(model.weight(), 0.30, 1e-6);
}

// Field case A23.
TEST(FitLoopTest, UndefinedParametersAreLeftOut) {
  TinyModel model;
  model.register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  TinyData data;
  Trainer(quiet({.precision = "64-true", .max_epochs = 1})).fit(model, data);
  EXPECT_NEAR(model.weight(), 0.30, 1e-6);
}

// Field case A24: both names are one tensor, with one step.
TEST(FitLoopTest, TiedWeightsTakeOneStep) {
  for (const bool is_from_parts : {false, true}) {
    for (const char* precision : {"32-true", "64-true"}) {
      TinyModel model;
      const at::Tensor tied = model.register_parameter("tied", model.w);
      TinyData data;
      TrainerParts parts;
      if (is_from_parts) {
        parts.optimizer = [](std::vector<at::Tensor> parameters) -> Optimizers {
          return std::make_unique<torch::optim::SGD>(std::move(parameters), 0.01);
        };
      }
      Trainer(quiet({.precision = precision, .max_epochs = 1}), parts).fit(model, data);
      EXPECT_NEAR(model.weight(), 0.30, 1e-6) << precision << is_from_parts;
      EXPECT_EQ(tied.item<double>(), model.weight()) << precision << is_from_parts;
    }
  }
}

}  // namespace
}  // namespace levin
