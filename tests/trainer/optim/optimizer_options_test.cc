#include "trainer/optim/optimizer_options.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

at::Tensor parameter_with_gradient(double gradient) {
  at::Tensor parameter = at::ones({1}, at::kDouble).requires_grad_();
  parameter.mutable_grad() = at::ones({1}, at::kDouble).mul(gradient);
  return parameter;
}

template <class Options>
double one_step(const Options& options, double gradient) {
  const at::Tensor parameter = parameter_with_gradient(gradient);
  Optimizers optimizers = options.make({parameter});
  optimizers[0].step();
  return parameter.item().toDouble();
}

constexpr double kTolerance = 1e-6;  // eps in the denominators

TEST(OptimizerOptionsTest, FirstStepsAreThoseOfTheFormulas) {
  EXPECT_NEAR(one_step(SgdOptions{.lr = 0.1, .weight_decay = 0.5}, 2.0), 1.0 - 0.1 * (2.0 + 0.5), kTolerance);
  // Adam's first step is lr in the direction of the gradient.
  EXPECT_NEAR(one_step(AdamOptions{.lr = 0.1}, 2.0), 0.9, kTolerance);
  AdamWOptions adamw;
  adamw.lr = 0.1;
  EXPECT_NEAR(one_step(adamw, 2.0), 1.0 * (1.0 - 0.1 * 0.01) - 0.1, kTolerance);
  // RMSprop: g / sqrt((1 - alpha) g^2) = 10 for alpha 0.99.
  EXPECT_NEAR(one_step(RmspropOptions{.lr = 0.01}, 2.0), 0.9, kTolerance);
  EXPECT_NEAR(one_step(AdagradOptions{.lr = 0.1}, 2.0), 0.9, kTolerance);
}

TEST(OptimizerOptionsTest, OptionsReachLibTorch) {
  AdamWOptions options;
  options.lr = 0.5;
  options.betas = {0.8, 0.95};
  options.amsgrad = true;
  Optimizers optimizers = options.make({parameter_with_gradient(1.0)});
  ASSERT_EQ(optimizers.size(), 1u);
  const auto& used = static_cast<const torch::optim::AdamWOptions&>(optimizers[0].param_groups()[0].options());
  EXPECT_EQ(used.lr(), 0.5);
  EXPECT_EQ(used.betas(), std::make_tuple(0.8, 0.95));
  EXPECT_EQ(used.weight_decay(), 0.01);
  EXPECT_TRUE(used.amsgrad());
}

TEST(OptimizerOptionsTest, BadBetasAreNamed) {
  const AdamOptions one_beta{.betas = {0.9}};
  EXPECT_EQ(error_text<ConfigError>([&] { one_beta.make({}); }), "[optimizer] betas must be two numbers, got 1.");
  const AdamOptions too_large{.betas = {0.9, 1.0}};
  EXPECT_EQ(error_text<ConfigError>([&] { too_large.make({}); }), "[optimizer] betas must be in [0, 1), got 1.");
}

TEST(OptimizerOptionsTest, NesterovNeedsMomentum) {
  const SgdOptions options{.nesterov = true};
  EXPECT_NE(error_text<ConfigError>([&] { options.make({}); }).find("nesterov needs momentum > 0"), std::string::npos);
}

}  // namespace
}  // namespace levin
