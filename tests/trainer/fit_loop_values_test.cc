#include <c10/core/DefaultDtype.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/callbacks/fake_run.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

double weight_after_fit(TinyModel& model, const TrainerOptions& options, TrainerParts parts = {}) {
  TinyData data(6, 2);
  Trainer(quiet(options), std::move(parts)).fit(model, data);
  return model.weight();
}

TEST(FitLoopValuesTest, SkippedBatchTakesNoStep) {
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& ctx) {
    return ctx.batch_idx() == 1 ? StepOutput::skip() : StepOutput(m.loss(batch));
  });
  std::vector<double> weights;
  std::vector<int64_t> steps;
  const auto callback = std::make_shared<HookCallback>();
  callback->batch_end = [&](const RunContext& run, const StepOutput& output) {
    EXPECT_EQ(output.is_skip(), run.state.batch_idx == 1);
    weights.push_back(model.weight());
    steps.push_back(run.state.global_step);
  };
  weight_after_fit(model, {.max_epochs = 1}, {.callbacks = {callback}});
  EXPECT_EQ(steps, std::vector<int64_t>({1, 1, 2}));
  EXPECT_EQ(weights[1], weights[0]);
  EXPECT_NE(weights[2], weights[1]);
}

TEST(FitLoopValuesTest, WeightedSumTrainsAsTheMean) {
  TinyModel mean;
  TinyModel sum([](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) -> StepOutput {
    const at::Tensor error = m.forward(batch[0].tensor()) - batch[1].tensor();
    return {error.square().sum(), static_cast<double>(batch.batch_size())};
  });
  const double expected = weight_after_fit(mean, {.precision = "64-true", .max_epochs = 2});
  EXPECT_NEAR(weight_after_fit(sum, {.precision = "64-true", .max_epochs = 2}), expected, 1e-12);
  EXPECT_GT(expected, 0.5);
}

// Field case B33.
TEST(FitLoopValuesTest, HooksSeeTheLossOfTheStep) {
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) -> StepOutput {
    return {m.loss(batch) * 0 + 8.0, 4.0};
  });
  const auto callback = std::make_shared<HookCallback>();
  callback->batch_end = [](const RunContext& /*run*/, const StepOutput& output) {
    EXPECT_EQ(output.loss().item<double>(), 8.0);
    EXPECT_EQ(output.weight(), 4.0);
  };
  weight_after_fit(model, {.max_epochs = 1}, {.callbacks = {callback}});
}

struct Leaf : torch::nn::Module {};

TEST(FitLoopValuesTest, ValidationPutsEachModeBack) {
  TinyModel model;
  const auto frozen = model.register_module("frozen", std::make_shared<Leaf>());
  const auto trained = model.register_module("trained", std::make_shared<Leaf>());
  const auto below = frozen->register_module("below", std::make_shared<Leaf>());
  frozen->eval();
  below->train();
  int num_validations = 0;
  model.on_validation = [&](const Batch& /*batch*/, StepContext& /*ctx*/) {
    ++num_validations;
    EXPECT_FALSE(model.is_training() || frozen->is_training() || trained->is_training() || below->is_training());
    EXPECT_FALSE(at::GradMode::is_enabled());
  };
  model.step = [&](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
    EXPECT_TRUE(m.is_training() && trained->is_training() && below->is_training());
    EXPECT_FALSE(frozen->is_training());
    EXPECT_TRUE(at::GradMode::is_enabled());
    return m.loss(batch);
  };
  TinyData data;
  data.has_validation = true;
  Trainer(quiet({.max_epochs = 2, .num_sanity_val_steps = 0})).fit(model, data);
  EXPECT_EQ(num_validations, 2);
  EXPECT_TRUE(model.is_training() && trained->is_training() && below->is_training());
  EXPECT_FALSE(frozen->is_training());
}

TEST(FitLoopValuesTest, DoublePrecisionReachesEverything) {
  const auto check = [](const TinyModel& m, const Batch& batch) {
    EXPECT_EQ(m.w.scalar_type(), at::kDouble);
    EXPECT_EQ(batch[0].tensor().scalar_type(), at::kDouble);
    EXPECT_EQ(torch::zeros({1}).scalar_type(), at::kDouble);
  };
  TinyModel model([&](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
    check(m, batch);
    return m.loss(batch);
  });
  model.on_validation = [&](const Batch& batch, StepContext& /*ctx*/) { check(model, batch); };
  TinyData data;
  data.has_validation = true;
  Trainer(quiet({.precision = "64-true", .max_epochs = 1})).fit(model, data);
  EXPECT_EQ(torch::zeros({1}).scalar_type(), at::kFloat);
  EXPECT_NEAR(model.weight(), 0.30, 1e-15);
}

TEST(FitLoopValuesTest, DefaultDtypeComesBackAfterAnError) {
  TinyModel model([](TinyModel& /*m*/, const Batch& /*batch*/, StepContext& /*ctx*/) -> StepOutput {
    throw std::runtime_error("step");
  });
  TinyData data;
  Trainer trainer(quiet({.precision = "64-true", .max_epochs = 1}));
  EXPECT_THROW(trainer.fit(model, data), std::runtime_error);
  EXPECT_EQ(c10::get_default_dtype_as_scalartype(), at::kFloat);
}

// x = 1, 2 | 3, 4 | 5: the batch means 1.5, 3.5 and 5 have the weights 2, 2 and 1, together 15 / 5.
TEST(FitLoopValuesTest, EpochValuesAreWeightedByBatchSize) {
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& ctx) {
    ctx.log("x", batch[0].tensor().mean(), {.on_step = false, .on_epoch = true});
    return m.loss(batch);
  });
  model.on_validation = [](const Batch& batch, StepContext& ctx) { ctx.log("val_x", batch[0].tensor().mean()); };
  TinyData data(5, 2);
  data.has_validation = true;
  const FitResult result = Trainer(quiet({.max_epochs = 2})).fit(model, data);
  EXPECT_DOUBLE_EQ(result.metrics.find("x").value(), 3.0);
  EXPECT_DOUBLE_EQ(result.metrics.find("val_x").value(), 3.0);
}

class LoggedFitTest : public testing::Test {
 protected:
  LoggedFitTest() : logger_(std::make_shared<RecordingLogger>()), callback_(std::make_shared<HookCallback>()) {
    data_.has_validation = true;
  }

  void fit(TrainerOptions options) {
    options = quiet(options);
    options.logger = true;
    options.default_root_dir = folder_.path;
    Trainer(options, {.callbacks = {callback_}, .loggers = {logger_}}).fit(model_, data_);
  }

  TemporaryFolder folder_;
  TinyModel model_;
  TinyData data_{6, 2};  // 3 batches
  std::shared_ptr<RecordingLogger> logger_;
  std::shared_ptr<HookCallback> callback_;
};

// Rows are numbered by the last step done, from 0.
TEST_F(LoggedFitTest, StepsAreLoggedEveryN) {
  fit({.max_epochs = 3, .log_every_n_steps = 4});
  EXPECT_EQ(logger_->steps_of("train_loss"), std::vector<int64_t>({3, 7}));
  EXPECT_EQ(logger_->folder, folder_.path / "runs/default/version_0");
}

TEST_F(LoggedFitTest, EveryStepIsLoggedOnce) {
  fit({.max_epochs = 2, .log_every_n_steps = 1});
  EXPECT_EQ(logger_->steps_of("train_loss"), std::vector<int64_t>({0, 1, 2, 3, 4, 5}));
}

TEST_F(LoggedFitTest, ZeroLogsNoSteps) {
  fit({.max_epochs = 2, .log_every_n_steps = 0});
  EXPECT_EQ(logger_->steps_of("train_loss"), std::vector<int64_t>());
}

TEST_F(LoggedFitTest, ValidationRowsHaveStepAndEpoch) {
  fit({.max_epochs = 2});
  EXPECT_EQ(logger_->steps_of("val_loss"), std::vector<int64_t>({2, 5}));
  EXPECT_EQ(logger_->rows.front().epoch, 0);
  EXPECT_EQ(logger_->rows.back().epoch, 1);
}

TEST_F(LoggedFitTest, ValuesKeptFromLoggersReachCallbacks) {
  model_.step = [](TinyModel& m, const Batch& batch, StepContext& ctx) {
    ctx.log("step_value", 1.0, {.logger = false});
    ctx.log("epoch_value", 2.0, {.on_step = false, .on_epoch = true, .logger = false});
    return m.loss(batch);
  };
  model_.on_validation = [](const Batch& /*batch*/, StepContext& ctx) { ctx.log("val_value", 3.0, {.logger = false}); };
  int num_ends = 0;
  callback_->epoch_end = [&](const RunContext& run) {
    ++num_ends;
    EXPECT_EQ(run.metrics.find("step_value"), 1.0);
    EXPECT_EQ(run.metrics.find("epoch_value"), 2.0);
    EXPECT_EQ(run.metrics.find("val_value"), 3.0);
  };
  fit({.max_epochs = 1, .log_every_n_steps = 1});
  EXPECT_EQ(num_ends, 1);
  for (const char* name : {"step_value", "epoch_value", "val_value"}) EXPECT_TRUE(logger_->steps_of(name).empty());
}

TEST_F(LoggedFitTest, ValuesOfCallbacksStandInTheRowOfTheEpoch) {
  callback_->epoch_end = [](const RunContext& run) { run.control.log("speed", 7.0); };
  fit({.max_epochs = 2});
  EXPECT_EQ(logger_->steps_of("speed"), std::vector<int64_t>({2, 5}));
}

}  // namespace
}  // namespace levin
