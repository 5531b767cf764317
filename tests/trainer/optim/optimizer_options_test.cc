#include "trainer/optim/optimizer_options.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <limits>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

std::vector<at::Tensor> one_parameter() { return {at::ones({2}).requires_grad_()}; }

// The LibTorch options of the optimizer that `options` make; fails if it is of another type.
template <class Optimizer, class LibtorchOptions, class Options>
LibtorchOptions made_by(const Options& options) {
  const std::vector<at::Tensor> parameters = one_parameter();
  const Optimizers optimizers = options.make(parameters);
  EXPECT_EQ(optimizers.size(), 1);
  EXPECT_NE(dynamic_cast<Optimizer*>(&optimizers[0]), nullptr);
  EXPECT_TRUE(optimizers[0].param_groups()[0].params()[0].is_same(parameters[0]));
  return static_cast<LibtorchOptions&>(optimizers[0].param_groups()[0].options());
}

TEST(OptimizerOptionsTest, SgdTakesItsOptions) {
  const auto made = made_by<torch::optim::SGD, torch::optim::SGDOptions>(
      SgdOptions{.lr = 0.5, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.01});
  EXPECT_EQ(made.lr(), 0.5);
  EXPECT_EQ(made.momentum(), 0.9);
  EXPECT_EQ(made.dampening(), 0.1);
  EXPECT_EQ(made.weight_decay(), 0.01);
  EXPECT_FALSE(made.nesterov());
  const auto nesterov =
      made_by<torch::optim::SGD, torch::optim::SGDOptions>(SgdOptions{.momentum = 0.9, .nesterov = true});
  EXPECT_TRUE(nesterov.nesterov());
}

TEST(OptimizerOptionsTest, AdamTakesItsOptions) {
  AdamOptions options;
  options.lr = 0.5;
  options.betas = {0.8, 0.99};
  options.eps = 1e-6;
  options.weight_decay = 0.25;
  options.amsgrad = true;
  const auto made = made_by<torch::optim::Adam, torch::optim::AdamOptions>(options);
  EXPECT_EQ(made.lr(), 0.5);
  EXPECT_EQ(made.betas(), std::make_tuple(0.8, 0.99));
  EXPECT_EQ(made.eps(), 1e-6);
  EXPECT_EQ(made.weight_decay(), 0.25);
  EXPECT_TRUE(made.amsgrad());
}

TEST(OptimizerOptionsTest, AdamWTakesItsOptions) {
  AdamWOptions options;
  options.lr = 0.5;
  options.betas = {0.8, 0.99};
  options.eps = 1e-6;
  options.weight_decay = 0.25;
  options.amsgrad = true;
  const auto made = made_by<torch::optim::AdamW, torch::optim::AdamWOptions>(options);
  EXPECT_EQ(made.lr(), 0.5);
  EXPECT_EQ(made.betas(), std::make_tuple(0.8, 0.99));
  EXPECT_EQ(made.eps(), 1e-6);
  EXPECT_EQ(made.weight_decay(), 0.25);
  EXPECT_TRUE(made.amsgrad());
}

TEST(OptimizerOptionsTest, RmspropTakesItsOptions) {
  const auto made = made_by<torch::optim::RMSprop, torch::optim::RMSpropOptions>(
      RmspropOptions{.lr = 0.5, .alpha = 0.9, .eps = 1e-6, .weight_decay = 0.25, .momentum = 0.75, .centered = true});
  EXPECT_EQ(made.lr(), 0.5);
  EXPECT_EQ(made.alpha(), 0.9);
  EXPECT_EQ(made.eps(), 1e-6);
  EXPECT_EQ(made.weight_decay(), 0.25);
  EXPECT_EQ(made.momentum(), 0.75);
  EXPECT_TRUE(made.centered());
}

TEST(OptimizerOptionsTest, AdagradTakesItsOptions) {
  const auto made = made_by<torch::optim::Adagrad, torch::optim::AdagradOptions>(
      AdagradOptions{.lr = 0.5, .lr_decay = 0.1, .weight_decay = 0.25, .eps = 1e-6});
  EXPECT_EQ(made.lr(), 0.5);
  EXPECT_EQ(made.lr_decay(), 0.1);
  EXPECT_EQ(made.weight_decay(), 0.25);
  EXPECT_EQ(made.eps(), 1e-6);
}

// PyTorch 2's defaults, from its documentation.
TEST(OptimizerOptionsTest, DefaultsArePyTorchs) {
  EXPECT_EQ(SgdOptions().lr, 1e-3);
  EXPECT_EQ(AdamOptions().lr, 1e-3);
  EXPECT_EQ(AdamOptions().betas, (std::vector<double>{0.9, 0.999}));
  EXPECT_EQ(AdamOptions().eps, 1e-8);
  EXPECT_EQ(AdamOptions().weight_decay, 0.0);
  EXPECT_EQ(AdamWOptions().lr, 1e-3);
  EXPECT_EQ(AdamWOptions().weight_decay, 1e-2);
  EXPECT_EQ(RmspropOptions().lr, 1e-2);
  EXPECT_EQ(RmspropOptions().alpha, 0.99);
  EXPECT_EQ(AdagradOptions().lr, 1e-2);
  EXPECT_EQ(AdagradOptions().eps, 1e-10);
}

TEST(OptimizerOptionsTest, SgdStepsByLrTimesGradient) {
  const std::vector<at::Tensor> parameters = one_parameter();
  const Optimizers optimizers = SgdOptions{.lr = 0.25}.make(parameters);
  parameters[0].mutable_grad() = at::ones({2}).mul_(2);
  optimizers[0].step();
  EXPECT_EQ(parameters[0][0].item<float>(), 0.5f);  // 1 - 0.25 * 2
}

template <class Options>
std::string betas_error(std::vector<double> betas) {
  Options options;
  options.betas = std::move(betas);
  return error_text<ConfigError>([&] { options.make(one_parameter()); });
}

TEST(OptimizerOptionsTest, BadBetasAreAnError) {
  EXPECT_EQ(betas_error<AdamOptions>({0.9}), "[optimizer] betas must be two numbers, got 1.");
  EXPECT_EQ(betas_error<AdamOptions>({0.9, 1.0}), "[optimizer] betas must be in [0, 1), got 1.");
  EXPECT_EQ(betas_error<AdamOptions>({std::numeric_limits<double>::quiet_NaN(), 0.9}),
            "[optimizer] betas must be in [0, 1), got nan.");
  EXPECT_EQ(betas_error<AdamWOptions>({0.9, 0.99, 0.999}), "[optimizer] betas must be two numbers, got 3.");
  EXPECT_EQ(betas_error<AdamWOptions>({-0.5, 0.9}), "[optimizer] betas must be in [0, 1), got -0.5.");
}

TEST(OptimizerOptionsTest, NesterovNeedsMomentumWithoutDampening) {
  EXPECT_EQ(error_text<ConfigError>([] { SgdOptions{.nesterov = true}.make(one_parameter()); }),
            "[optimizer] nesterov needs momentum > 0 and dampening 0, got momentum 0 and dampening 0.");
  EXPECT_EQ(error_text<ConfigError>(
                [] { SgdOptions{.momentum = 0.9, .dampening = 0.5, .nesterov = true}.make(one_parameter()); }),
            "[optimizer] nesterov needs momentum > 0 and dampening 0, got momentum 0.9 and dampening 0.5.");
}

template <class Options>
std::vector<std::string> problems_of(Options options) {
  OptionChecker checker;
  options.visit(checker);
  return checker.problems();
}

TEST(OptimizerOptionsTest, NegativeNumbersAreProblems) {
  EXPECT_EQ(problems_of(SgdOptions{.lr = -1, .momentum = -2, .weight_decay = -3}),
            (std::vector<std::string>{"lr must be >= 0, got -1", "momentum must be >= 0, got -2",
                                      "weight_decay must be >= 0, got -3"}));
  EXPECT_EQ(problems_of(RmspropOptions{.alpha = 1.5}),
            std::vector<std::string>{"alpha must be between 0 and 1, got 1.5"});
  EXPECT_TRUE(problems_of(AdamWOptions()).empty());
  EXPECT_TRUE(problems_of(AdagradOptions()).empty());
}

// A23: a convolution whose bias is undefined.
struct Conv : torch::nn::Module {
  Conv() {
    weight = register_parameter("weight", at::ones({1, 1, 2, 2}));
    bias = register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  }
  at::Tensor forward(const at::Tensor& x) { return at::conv2d(x, weight, bias); }
  at::Tensor weight, bias;
};

template <class Options>
void expect_steps_without_bias(const Options& options) {
  Conv conv;
  const Optimizers optimizers = options.make(conv.parameters());
  for (int step = 0; step < 3; ++step) {
    optimizers[0].zero_grad();
    conv.forward(at::ones({1, 1, 3, 3})).sum().backward();
    optimizers[0].step();
  }
  EXPECT_TRUE(at::isfinite(conv.weight).all().item<bool>());
  EXPECT_LT(conv.weight.max().item<float>(), 1.0f);
}

TEST(OptimizerOptionsTest, AnUndefinedBiasIsNoObstacle) {
  expect_steps_without_bias(SgdOptions());
  expect_steps_without_bias(AdamOptions());
  expect_steps_without_bias(AdamWOptions());
  expect_steps_without_bias(RmspropOptions());
  expect_steps_without_bias(AdagradOptions());
}

TEST(OptimizerOptionsTest, AParameterWithoutGradientStays) {
  const std::vector<at::Tensor> parameters = one_parameter();
  const Optimizers optimizers = AdamWOptions().make(parameters);
  optimizers[0].step();
  EXPECT_EQ(parameters[0][0].item<float>(), 1.0f);
}

}  // namespace
}  // namespace levin
