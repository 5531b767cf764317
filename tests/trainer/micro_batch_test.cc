#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/metrics/mean_squared_error.h"
#include "trainer/part_guard.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

[[noreturn]] void run_out_of_memory() { TORCH_CHECK_WITH(OutOfMemoryError, false, "out of memory for the test"); }

// Fails in its forward pass where it gets more samples than that, and counts the attempts.
struct SmallModel : TinyModel {
  explicit SmallModel(int64_t most) {
    step = [this, most](TinyModel& m, const Batch& batch, StepContext& ctx) {
      sizes.push_back(batch.batch_size());
      if (batch.batch_size() > most) run_out_of_memory();
      const at::Tensor loss = m.loss(batch);
      ctx.log("loss", loss);
      return loss;
    };
  }
  std::vector<int64_t> sizes;
};

TEST(MicroBatchTest, PartsGiveTheSameAsTheWhole) {
  for (const int64_t accumulate : {1, 2}) {
    TinyModel whole;
    TinyData data(10, 5);
    Trainer(quiet({.max_epochs = 3, .accumulate_grad_batches = accumulate})).fit(whole, data);
    for (const int64_t samples : {1, 2, 3, 4, 5, 6}) {
      TinyModel model;
      TinyData same(10, 5);
      const FitResult result =
          Trainer(quiet({.max_epochs = 3, .accumulate_grad_batches = accumulate, .micro_batch_size = samples}))
              .fit(model, same);
      EXPECT_EQ(result.num_steps, 6 / accumulate);
      EXPECT_NEAR(model.weight(), whole.weight(), 1e-6) << samples << " of 5, window of " << accumulate;
    }
  }
}

TEST(MicroBatchTest, TokensCountEquallyOverTheParts) {
  // Sample x has x tokens and the gradient 1 for each: the mean over all tokens is 1, whatever the parts.
  const auto step = [](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) -> StepOutput {
    const at::Tensor tokens = batch[0].tensor().sum();
    return {m.w.sum() * tokens, tokens.item<double>()};
  };
  TinyModel model(step);
  TinyData data(5, 5);
  Trainer(quiet({.max_epochs = 1, .micro_batch_size = 2})).fit(model, data);
  EXPECT_NEAR(model.weight(), -0.01, 1e-8);
}

TEST(MicroBatchTest, WhatThePartsLogIsOneValueOfTheStep) {
  MeanSquaredError metric;
  TinyModel model([&](TinyModel& m, const Batch& batch, StepContext& ctx) {
    const at::Tensor x = batch[0].tensor();
    metric.update(x, x * 0);
    ctx.log("mean", x.mean(), {.on_epoch = true});
    ctx.log("sum", x.sum(), {.reduce = Reduce::kSum});
    ctx.log("max", x.max(), {.reduce = Reduce::kMax});
    ctx.log("metric", metric);
    return m.loss(batch);
  });
  TinyData data(10, 5);
  const auto logger = std::make_shared<RecordingLogger>();
  auto options = quiet({.max_epochs = 1, .micro_batch_size = 2, .log_every_n_steps = 1});
  options.logger = true;
  Trainer(options, {.loggers = {logger}}).fit(model, data);
  ASSERT_EQ(logger->rows.size(), 3u);
  EXPECT_NEAR(*logger->rows[0].metrics.find("mean_step"), 3.0, 1e-12);
  EXPECT_EQ(*logger->rows[0].metrics.find("sum"), 15.0);
  EXPECT_EQ(*logger->rows[0].metrics.find("max"), 5.0);
  EXPECT_NEAR(*logger->rows[1].metrics.find("mean_step"), 8.0, 1e-12);
  EXPECT_NEAR(*logger->rows[2].metrics.find("mean_epoch"), 5.5, 1e-12);
  EXPECT_NEAR(*logger->rows[2].metrics.find("metric"), 38.5, 1e-6);  // the mean of x^2 over 1 to 10
}

TEST(MicroBatchTest, CallbacksSeeTheWholeBatch) {
  TinyModel model;
  TinyData data(5, 5);
  std::vector<double> losses;
  const auto callback = std::make_shared<HookCallback>();
  callback->batch_end = [&](const RunContext& /*run*/, const StepOutput& output) {
    losses.push_back(output.loss().item<double>());
  };
  Trainer(quiet({.max_epochs = 1, .micro_batch_size = 2}), {.callbacks = {callback}}).fit(model, data);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_NEAR(losses[0], 4.0 * 11.0, 1e-4);  // the mean of (2x)^2 over 1 to 5
}

TEST(MicroBatchTest, AutomaticHalvesUntilItFitsAndThenStays) {
  TinyModel whole;
  TinyData data(8, 8);
  Trainer(quiet({.max_epochs = 2})).fit(whole, data);
  SmallModel model(3);
  TinyData same(8, 8);
  const FitResult result = Trainer(quiet({.max_epochs = 2, .micro_batch_size = "auto"})).fit(model, same);
  EXPECT_EQ(result.micro_batch_size, 2);
  EXPECT_THAT(model.sizes, ElementsAre(8, 4, 2, 2, 2, 2, 2, 2, 2, 2));
  EXPECT_NEAR(model.weight(), whole.weight(), 1e-6);
}

TEST(MicroBatchTest, AutomaticWithoutNeedIsBitEqual) {
  TinyModel whole;
  TinyData data(8, 4);
  Trainer(quiet({.max_epochs = 3, .accumulate_grad_batches = 2})).fit(whole, data);
  TinyModel model;
  TinyData same(8, 4);
  const FitResult result =
      Trainer(quiet({.max_epochs = 3, .accumulate_grad_batches = 2, .micro_batch_size = "auto"})).fit(model, same);
  EXPECT_EQ(result.micro_batch_size, 0);
  EXPECT_EQ(model.weight(), whole.weight());
}

// y = v (w x): backward reaches v before w. It fails in between at the first attempt of the second batch of a window.
struct FailsInBackward : TinyModel {
  FailsInBackward() {
    v = register_parameter("v", torch::ones({1, 1}));
    step = [this](TinyModel& m, const Batch& batch, StepContext& ctx) {
      const at::Tensor hidden = batch[0].tensor().matmul(m.w);
      if (fails && ctx.batch_idx() == 1 && batch.batch_size() > 2) {
        hidden.register_hook([](const at::Tensor& /*gradient*/) { run_out_of_memory(); });
      }
      norm->forward(batch[0].tensor());
      return at::mse_loss(hidden.matmul(v), batch[1].tensor()) + at::dropout(hidden.detach(), 0.5, true).mean() * 0;
    };
    norm = register_module("norm", torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(1).affine(false)));
  }
  at::Tensor v;
  torch::nn::BatchNorm1d norm = nullptr;
  bool fails = true;
};

TEST(MicroBatchTest, AFailedBackwardLeavesNoTraceInGradientsOfTheWindow) {
  FailsInBackward whole;
  whole.fails = false;
  TinyData data(8, 4);
  Trainer(quiet({.max_epochs = 1, .accumulate_grad_batches = 2})).fit(whole, data);
  FailsInBackward model;
  TinyData same(8, 4);
  Trainer(quiet({.max_epochs = 1, .accumulate_grad_batches = 2, .micro_batch_size = "auto"})).fit(model, same);
  EXPECT_NEAR(model.v.item<double>(), whole.v.item<double>(), 1e-5);
  EXPECT_NEAR(model.weight(), whole.weight(), 1e-5);
  // Batch 1 whole, then batch 2 in two parts; the failed attempt does not count.
  EXPECT_EQ(model.norm->num_batches_tracked.item<int64_t>(), 3);
}

TEST(MicroBatchTest, AFailedPartPutsTheRandomGeneratorsBack) {
  std::vector<at::Tensor> none;
  LossWindow window;
  const at::Tensor expected = [] {
    at::manual_seed(5);
    return at::rand({3});
  }();
  at::manual_seed(5);
  {
    PartGuard guard(none, none, window);
    at::rand({100});
    window.begin(7);
    guard.put_back();
  }
  EXPECT_TRUE(at::rand({3}).equal(expected));
  EXPECT_EQ(window.size(), 1);
}

TEST(MicroBatchTest, AMemoryLimitIsKeptBySplitting) {
  LargeModel whole;
  TinyData data(16, 16);
  Trainer(quiet({.max_epochs = 3})).fit(whole, data);
  LargeModel model;
  TinyData same(16, 16);
  const FitResult result =
      Trainer(quiet({.max_epochs = 3, .micro_batch_size = "auto", .memory_limit = "20MiB"})).fit(model, same);
  EXPECT_GE(result.micro_batch_size, 2);
  EXPECT_LE(result.micro_batch_size, 8);
  EXPECT_NEAR(model.weight(), whole.weight(), 1e-6 + std::abs(whole.weight()) * 1e-4);
  LargeModel failing;
  EXPECT_THROW(Trainer(quiet({.max_epochs = 3, .memory_limit = "20MiB"})).fit(failing, same), c10::OutOfMemoryError);
}

TEST(MicroBatchTest, WhatNeverFitsIsSaid) {
  SmallModel model(0);
  TinyData data(8, 8);
  EXPECT_THROW(Trainer(quiet({.max_epochs = 1, .micro_batch_size = "auto"})).fit(model, data), c10::OutOfMemoryError);
  EXPECT_THAT(model.sizes, ElementsAre(8, 4, 2, 1));
}

TEST(MicroBatchTest, AResumedFitSplitsAsBefore) {
  const TestFolder folder;
  auto options = quiet({.max_steps = 2, .micro_batch_size = "auto", .default_root_dir = folder.path().string()});
  options.enable_checkpointing = true;
  SmallModel first(3);
  TinyData data(16, 8);
  Trainer(options).fit(first, data);
  options.max_steps = 4;
  SmallModel resumed(3);
  Trainer(options).fit(resumed, data, "last");
  EXPECT_THAT(resumed.sizes, ElementsAre(2, 2, 2, 2, 2, 2, 2, 2));
}

TEST(MicroBatchTest, WrongUseIsRefused) {
  const auto message = [](TrainerOptions options, bool is_manual) -> std::string {
    struct Manual : TinyModel {
      bool automatic_optimization() const override { return !is_manual; }
      bool is_manual = false;
    } model;
    model.is_manual = is_manual;
    TinyData data;
    try {
      Trainer(quiet(std::move(options))).fit(model, data);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({.max_epochs = 1, .micro_batch_size = 2}, true), HasSubstr("micro_batch_size (2)"));
  EXPECT_THAT(message({.max_epochs = 1, .micro_batch_size = 0}, false),
              HasSubstr("micro_batch_size must be a number of samples >= 1, none or auto, got 0"));
  EXPECT_THAT(message({.max_epochs = 1, .memory_limit = "much"}, false), HasSubstr("memory_limit must be"));
}

}  // namespace
}  // namespace levin
