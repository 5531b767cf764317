#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/lbfgs.h>

#include "tests/trainer/hook_recorder.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

using testing::HasSubstr;

// A generator moves its samples to those of the data, a discriminator tells them apart: each has its optimizer.
class Gan final : public LightningModule {
 public:
  Gan() {
    generator = register_module("generator", torch::nn::Linear(1, 1));
    discriminator = register_module("discriminator", torch::nn::Linear(1, 1));
  }
  bool automatic_optimization() const override { return false; }
  Optimizers configure_optimizers() override {
    Optimizers optimizers(std::make_unique<torch::optim::SGD>(generator->parameters(), 0.1));
    optimizers.add(std::make_unique<torch::optim::SGD>(discriminator->parameters(), 0.1));
    return optimizers;
  }
  StepOutput training_step(const Batch& batch, StepContext& ctx) override {
    ManualOptimization& manual = ctx.manual();
    const at::Tensor noise = torch::ones_like(batch[0].tensor());
    {
      const ToggledOptimizer toggled(manual, 0);
      EXPECT_FALSE(discriminator->weight.requires_grad());
      const at::Tensor loss = -discriminator(generator(noise)).mean();
      manual.backward(loss);
      manual.step(0);
      manual.zero_grad(0);
      ctx.log("generator_loss", loss);
    }
    const ToggledOptimizer toggled(manual, 1);
    EXPECT_FALSE(generator->weight.requires_grad());
    const at::Tensor loss = discriminator(generator(noise)).mean() - discriminator(batch[0].tensor()).mean();
    manual.backward(loss);
    manual.step(1);
    manual.zero_grad(1);
    ctx.log("discriminator_loss", loss);
    return StepOutput::skip();
  }

  torch::nn::Linear generator{nullptr};
  torch::nn::Linear discriminator{nullptr};
};

TEST(ManualOptimizationTest, TwoOptimizersTakeTurns) {
  Trainer trainer(quiet({.max_epochs = 1, .log_every_n_steps = 1, .seed = 1}));
  Gan model;
  TinyData data(4, 2);
  // The first batch by hand: x = 1, 2.
  const double g = model.generator->weight.item<double>();
  const double gb = model.generator->bias.item<double>();
  const double d = model.discriminator->weight.item<double>();
  const FitResult result = Trainer(quiet({.max_epochs = 1, .limit_train_batches = 1})).fit(model, data);
  EXPECT_EQ(result.num_steps, 2);
  EXPECT_NEAR(model.generator->weight.item<double>(), g + 0.1 * d, 1e-6);
  const double fake = g + 0.1 * d + gb + 0.1 * d;
  EXPECT_NEAR(model.discriminator->weight.item<double>(), d - 0.1 * (fake - 1.5), 1e-6);
  EXPECT_TRUE(model.generator->weight.requires_grad());
  EXPECT_TRUE(model.discriminator->weight.requires_grad());
  EXPECT_TRUE(result.metrics.find("generator_loss"));
}

TEST(ManualOptimizationTest, EachStepCounts) {
  Gan model;
  TinyData data(4, 1);
  const FitResult result = Trainer(quiet({.max_steps = 6})).fit(model, data);
  EXPECT_EQ(result.num_steps, 6);  // three batches of two steps
}

TEST(ManualOptimizationTest, OptionsThatHaveNothingToActOnAreRefused) {
  Gan model;
  TinyData data;
  Trainer trainer(quiet({.max_epochs = 1, .accumulate_grad_batches = 2}));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.fit(model, data); }), HasSubstr("accumulate_grad_batches (2)"));
  Trainer clipping(quiet({.max_epochs = 1, .gradient_clip_val = 1.0}));
  EXPECT_THAT(thrown_text<ConfigError>([&] { clipping.fit(model, data); }), HasSubstr("gradient_clip_val"));
}

TEST(ManualOptimizationTest, AnOptimizerThatIsNotThereIsNamed) {
  struct Wrong final : TinyModel {
    bool automatic_optimization() const override { return false; }
  };
  Wrong model;
  model.step = [](TinyModel& m, const Batch& batch, StepContext& ctx) -> StepOutput {
    ctx.manual().backward(m.loss(batch));
    ctx.manual().step(1);
    return StepOutput::skip();
  };
  TinyData data;
  Trainer trainer(quiet({.max_epochs = 1}));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.fit(model, data); }),
              HasSubstr("there is no optimizer 1: configure_optimizers returned 1"));
}

TEST(ManualOptimizationTest, AutomaticOptimizationRefusesManualCallsAndSeveralOptimizers) {
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& ctx) -> StepOutput {
    ctx.manual().backward(m.loss(batch));
    return StepOutput::skip();
  });
  TinyData data;
  Trainer trainer(quiet({.max_epochs = 1}));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.fit(model, data); }), HasSubstr("automatic_optimization"));

  struct Two final : TinyModel {
    Optimizers configure_optimizers() override {
      Optimizers optimizers(std::make_unique<torch::optim::SGD>(parameters(), 0.1));
      return std::move(optimizers.add(std::make_unique<torch::optim::SGD>(parameters(), 0.1)));
    }
  };
  Two two;
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.fit(two, data); }),
              HasSubstr("automatic optimization needs exactly one optimizer, got 2"));
}

// loss = mean (w x - 2x)^2 is quadratic: one L-BFGS step with a line search finds w = 2.
TEST(ManualOptimizationTest, LbfgsEvaluatesItsWindowAgain) {
  struct Model final : TinyModel {
    Optimizers configure_optimizers() override {
      return std::make_unique<torch::optim::LBFGS>(
          parameters(), torch::optim::LBFGSOptions(1.0).max_iter(20).line_search_fn("strong_wolfe"));
    }
  };
  for (const int64_t batch_size : {4, 2, 1}) {
    Model model;
    TinyData data(4, batch_size);
    const FitResult result = Trainer(quiet({.max_epochs = 1, .accumulate_grad_batches = 4})).fit(model, data);
    EXPECT_EQ(result.num_steps, 1);
    EXPECT_NEAR(model.weight(), 2.0, 1e-3) << batch_size;
    EXPECT_GT(model.num_training_steps, 4 / batch_size) << batch_size;
  }
}

}  // namespace
}  // namespace levin
