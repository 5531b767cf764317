#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

// loss = w for every batch, learning rate 1, from w = 0: a step with the mean gradient 1 takes w down by 1.
struct ConstantSlope : TinyModel {
  ConstantSlope() {
    step = [](TinyModel& m, const Batch& /*batch*/, StepContext& /*ctx*/) { return m.w.sum(); };
  }
  Optimizers configure_optimizers() override { return std::make_unique<torch::optim::SGD>(parameters(), 1.0); }
};

// Field case B1.
TEST(AccumulationTest, TheShortWindowAtTheEndIsDividedByItsOwnLength) {
  ConstantSlope model;
  TinyData data(5, 1);
  const FitResult result = Trainer(quiet({.max_epochs = 1, .accumulate_grad_batches = 2})).fit(model, data);
  EXPECT_EQ(result.num_steps, 3);
  EXPECT_EQ(model.weight(), -3.0);
}

// Field case B1.
TEST(AccumulationTest, AWindowLongerThanTheEpochEndsWithIt) {
  ConstantSlope model;
  TinyData data(1, 1);
  const FitResult result = Trainer(quiet({.max_epochs = 4, .accumulate_grad_batches = 4})).fit(model, data);
  EXPECT_EQ(result.num_steps, 4);
  EXPECT_EQ(model.weight(), -4.0);
}

// Field case B1.
TEST(AccumulationTest, AWindowCanGoOnInTheNextEpoch) {
  ConstantSlope model;
  TinyData data(1, 1);
  const FitResult result =
      Trainer(quiet({.max_epochs = 4, .accumulate_grad_batches = 4, .accumulate_across_epochs = true}))
          .fit(model, data);
  EXPECT_EQ(result.num_steps, 1);
  EXPECT_EQ(model.weight(), -1.0);
}

// Field case B2: 10 tokens with gradient 1 each, then 100 with gradient 0.
TEST(AccumulationTest, TokensCountEquallyOverTheWindow) {
  ConstantSlope model;
  model.step = [](TinyModel& m, const Batch& /*batch*/, StepContext& ctx) -> StepOutput {
    if (ctx.batch_idx() == 0) return {m.w.sum() * 10.0, 10.0};
    return {m.w.sum() * 0.0, 100.0};
  };
  TinyData data(2, 1);
  Trainer(quiet({.max_epochs = 1, .accumulate_grad_batches = 2})).fit(model, data);
  EXPECT_NEAR(model.weight(), -10.0 / 110.0, 1e-7);
}

// A mean loss counts with the number of its samples: the last batch has one instead of two.
TEST(AccumulationTest, AWindowEqualsTheFullBatch) {
  TinyModel whole;
  TinyData full_batch(5, 5);
  Trainer(quiet({.max_epochs = 3})).fit(whole, full_batch);
  for (const int64_t batch_size : {1, 2, 3, 4}) {
    TinyModel model;
    TinyData data(5, batch_size);
    const FitResult result = Trainer(quiet({.max_epochs = 3, .accumulate_grad_batches = 5})).fit(model, data);
    EXPECT_EQ(result.num_steps, 3) << batch_size;
    EXPECT_NEAR(model.weight(), whole.weight(), 1e-6) << batch_size;
  }
}

// A step that fails half-way leaves gradients behind, here those of two backward passes.
TEST(AccumulationTest, AFitResumedFromTheCheckpointOfAnErrorStepsOnNoTornWindow) {
  struct SavesOnError final : Callback {
    void on_exception(const RunContext& run, const std::exception& /*error*/) noexcept override {
      run.control.save_checkpoint(run.run_dir / "checkpoints" / "of_error", {});
    }
  };
  const TestFolder folder;
  auto options = quiet({.max_epochs = 1, .accumulate_grad_batches = 2});
  options.default_root_dir = folder.path().string();
  options.logger = true;
  TinyData data(6, 1);
  ConstantSlope failing;
  failing.step = [](TinyModel& m, const Batch& /*batch*/, StepContext& ctx) -> StepOutput {
    if (ctx.batch_idx() == 3) {
      m.w.sum().backward();
      throw std::runtime_error("torn");
    }
    return m.w.sum();
  };
  Trainer trainer(options, {.callbacks = {std::make_shared<SavesOnError>()}});
  EXPECT_THROW(trainer.fit(failing, data), std::runtime_error);
  ConstantSlope model;
  Trainer(options).fit(model, data, (trainer.run_dir() / "checkpoints" / "of_error").string());
  EXPECT_EQ(model.weight(), -2.0);  // batches 0 and 1, then 4 and 5
}

TEST(AccumulationTest, ASkippedBatchHasNoWeight) {
  ConstantSlope model;
  model.step = [](TinyModel& m, const Batch& /*batch*/, StepContext& ctx) -> StepOutput {
    if (ctx.batch_idx() % 2 == 1) return StepOutput::skip();
    return m.w.sum();
  };
  TinyData data(4, 1);
  const FitResult result = Trainer(quiet({.max_epochs = 1, .accumulate_grad_batches = 2})).fit(model, data);
  EXPECT_EQ(result.num_steps, 2);
  EXPECT_EQ(model.weight(), -2.0);
}

TEST(AccumulationTest, AWindowOfSkippedBatchesIsNoStep) {
  ConstantSlope model;
  model.step = [](TinyModel& m, const Batch& /*batch*/, StepContext& ctx) -> StepOutput {
    if (ctx.batch_idx() < 2) return StepOutput::skip();
    return m.w.sum();
  };
  TinyData data(4, 1);
  const FitResult result = Trainer(quiet({.max_epochs = 1, .accumulate_grad_batches = 2})).fit(model, data);
  EXPECT_EQ(result.num_steps, 1);
  EXPECT_EQ(model.weight(), -1.0);
}

// Field case B33.
TEST(AccumulationTest, TheLossIsShownUndivided) {
  ConstantSlope model;
  model.step = [](TinyModel& m, const Batch& /*batch*/, StepContext& ctx) -> StepOutput {
    const at::Tensor loss = m.w.sum() * 0.0 + 2.0;
    ctx.log("train_loss", loss);
    return loss;
  };
  TinyData data(8, 1);
  const auto callback = std::make_shared<HookCallback>();
  int64_t num_batches = 0;
  callback->batch_end = [&](const RunContext& run, const StepOutput& output) {
    EXPECT_EQ(output.loss().item<double>(), 2.0);
    EXPECT_EQ(run.store.latest(/*only_prog_bar=*/false).find("train_loss"), 2.0);
    ++num_batches;
  };
  TrainerOptions options = quiet({.max_epochs = 1, .accumulate_grad_batches = 4, .log_every_n_steps = 1});
  const FitResult result = Trainer(options, {.callbacks = {callback}}).fit(model, data);
  EXPECT_EQ(num_batches, 8);
  EXPECT_EQ(result.metrics.find("train_loss"), 2.0);
}

// Field case B4: once for each window, on the gradient of all of it. At w = (0, 0) the gradient is (3, 4).
TEST(AccumulationTest, ClippingIsOncePerWindow) {
  struct Model final : LightningModule {
    Model() { w = register_parameter("w", torch::zeros({2})); }
    StepOutput training_step(const Batch& /*batch*/, StepContext& /*ctx*/) override {
      return (w * at::tensor({3.0F, 4.0F})).sum();
    }
    Optimizers configure_optimizers() override { return std::make_unique<torch::optim::SGD>(parameters(), 1.0); }
    void configure_gradient_clipping(GradientClipping& clipping, StepContext& ctx) override {
      ++num_clippings;
      LightningModule::configure_gradient_clipping(clipping, ctx);
    }
    at::Tensor w;
    int64_t num_clippings = 0;
  };
  Model model;
  TinyData data(2, 1);
  Trainer(quiet({.max_epochs = 1, .accumulate_grad_batches = 2, .gradient_clip_val = 1.0})).fit(model, data);
  EXPECT_EQ(model.num_clippings, 1);
  EXPECT_TRUE(at::allclose(model.w, at::tensor({-0.6F, -0.8F}), 0.0, 1e-6)) << model.w;

  Model by_value;
  Trainer(quiet({.max_epochs = 1,
                 .accumulate_grad_batches = 2,
                 .gradient_clip_val = 3.5,
                 .gradient_clip_algorithm = "value"}))
      .fit(by_value, data);
  EXPECT_TRUE(at::equal(by_value.w.detach(), at::tensor({-3.0F, -3.5F}))) << by_value.w;
}

TEST(AccumulationTest, ACallbackChangesTheSizeOfTheNextWindow) {
  ConstantSlope model;
  TinyData data(4, 1);
  const auto callback = std::make_shared<HookCallback>();
  callback->epoch_end = [](const RunContext& run) { run.control.set_accumulate_grad_batches(4); };
  const FitResult result = Trainer(quiet({.max_epochs = 2}), {.callbacks = {callback}}).fit(model, data);
  EXPECT_EQ(result.num_steps, 4 + 1);
  EXPECT_EQ(model.weight(), -5.0);
}

TEST(AccumulationTest, SkippingAStepDropsItsGradients) {
  ConstantSlope model;
  TinyData data(4, 1);
  const auto callback = std::make_shared<HookCallback>();
  int64_t num_steps = 0;
  callback->before_step = [&](const RunContext& run) {
    if (++num_steps == 2) run.control.skip_optimizer_step();
  };
  const FitResult result = Trainer(quiet({.max_epochs = 1}), {.callbacks = {callback}}).fit(model, data);
  EXPECT_EQ(num_steps, 4);
  EXPECT_EQ(result.num_steps, 3);
  EXPECT_EQ(model.weight(), -3.0);
}

}  // namespace
}  // namespace levin
