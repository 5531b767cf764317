#include <ATen/Parallel.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/optim/adamw.h>

#include <chrono>
#include <limits>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/optim/problem.h"
#include "trainer/core/error.h"
#include "trainer/optim/adafactor.h"
#include "trainer/optim/adagrad.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/lbfgs.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/make_optimizer.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/rmsprop.h"
#include "trainer/optim/scaled_learning_rate.h"
#include "trainer/optim/sgd.h"

namespace levin {
namespace {

std::vector<at::Tensor> one_parameter() { return {at::ones({2}).requires_grad_()}; }

// Calls check<O>(name) for each of Levin's own optimizers.
template <class Check>
void for_each_optimizer(Check check) {
  check.template operator()<SGD>("SGD");
  check.template operator()<Adam>("Adam");
  check.template operator()<AdamW>("AdamW");
  check.template operator()<Adagrad>("Adagrad");
  check.template operator()<RMSprop>("RMSprop");
  check.template operator()<Lion>("Lion");
  check.template operator()<Adafactor>("Adafactor");
  check.template operator()<Muon>("Muon");
}

// PyTorch 2's defaults, from its documentation; Lion's from its paper.
TEST(OptimizersTest, DefaultsArePyTorchs) {
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
  EXPECT_EQ(AdafactorOptions().beta2_decay, -0.8);
  EXPECT_EQ(MuonOptions().momentum, 0.95);
  EXPECT_EQ(MuonOptions().weight_decay, 0.1);
  EXPECT_EQ(LionOptions().betas, (std::vector<double>{0.9, 0.99}));
  EXPECT_EQ(LbfgsOptions().history_size, 100);
}

TEST(OptimizersTest, GroupsShowAndTakeTheLearningRate) {
  for_each_optimizer([]<class O>(const char* name) {
    typename O::Options options;
    options.lr = 0.5;
    O optimizer(one_parameter(), options);
    ASSERT_EQ(optimizer.param_groups().size(), 1u) << name;
    EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), 0.5) << name;
    optimizer.param_groups()[0].options().set_lr(0.25);
    EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), 0.25) << name;
    EXPECT_STREQ(optimizer.name(), name);
  });
}

TEST(OptimizersTest, AChangedLearningRateCounts) {
  const std::vector<at::Tensor> parameters = one_parameter();
  SGD optimizer(parameters, {.lr = 0.5});
  optimizer.param_groups()[0].options().set_lr(0.25);
  parameters[0].mutable_grad() = at::ones({2}).mul_(2);
  optimizer.step();
  EXPECT_EQ(parameters[0][0].item<float>(), 0.5f);  // 1 - 0.25 * 2
}

TEST(OptimizersTest, EachGroupHasItsOptions) {
  const NamedParameters parameters = {{"a", at::ones({2}).requires_grad_()}, {"b", at::ones({2}).requires_grad_()}};
  SGD optimizer({torch::optim::OptimizerParamGroup({parameters[0].second}),
                 torch::optim::OptimizerParamGroup({parameters[1].second},
                                                   std::make_unique<GroupOptions<SgdOptions>>(SgdOptions{.lr = 0.5}))},
                {.lr = 0.25});
  for (const auto& [name, tensor] : parameters) tensor.mutable_grad() = at::ones({2});
  optimizer.step();
  EXPECT_EQ(parameters[0].second[0].item<float>(), 0.75f);
  EXPECT_EQ(parameters[1].second[0].item<float>(), 0.5f);
}

TEST(OptimizersTest, StepReturnsTheLossOfTheClosure) {
  const std::vector<at::Tensor> parameters = one_parameter();
  AdamW optimizer(parameters);
  const at::Tensor loss = optimizer.step([&] {
    const at::Tensor value = parameters[0].square().sum();
    value.backward();
    return value;
  });
  EXPECT_EQ(loss.item<float>(), 2.0f);
  EXPECT_LT(parameters[0][0].item<float>(), 1.0f);
}

// A19: 200 parameters of 64 numbers, 100 steps.
struct ManyParameters {
  ManyParameters() {
    at::manual_seed(7);
    for (int i = 0; i < 200; ++i) ours.push_back(at::randn({64}).requires_grad_());
    for (const at::Tensor& tensor : ours) theirs.push_back(tensor.detach().clone().requires_grad_());
    for (size_t i = 0; i < ours.size(); ++i) {
      ours[i].mutable_grad() = at::randn({64});
      theirs[i].mutable_grad() = ours[i].grad().clone();
    }
  }
  std::vector<at::Tensor> ours, theirs;
};

template <class O>
double seconds_of_steps(O& optimizer) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();  // the least disturbed of the parts
  for (int part = 0; part < 10; ++part) {
    const Clock::time_point start = Clock::now();
    for (int step = 0; step < 10; ++step) optimizer.step();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

TEST(OptimizersTest, AdamWEqualsLibTorchsAndIsFaster) {
  ManyParameters many;
  AdamW ours(many.ours, {.lr = 1e-3, .weight_decay = 0.01});
  torch::optim::AdamW theirs(many.theirs, torch::optim::AdamWOptions(1e-3).weight_decay(0.01));
  const double our_seconds = seconds_of_steps(ours);
  const double their_seconds = seconds_of_steps(theirs);
  double greatest = 0.0;
  for (size_t i = 0; i < many.ours.size(); ++i) {
    greatest = std::max(greatest, (many.ours[i] - many.theirs[i]).abs().max().item<double>());
  }
  EXPECT_LT(greatest, 1e-6);
  EXPECT_LT(our_seconds, their_seconds);
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

TEST(OptimizersTest, AnUndefinedBiasIsNoObstacle) {
  for_each_optimizer([]<class O>(const char* name) {
    Conv conv;
    O optimizer(conv.parameters());
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      conv.forward(at::ones({1, 1, 3, 3})).sum().backward();
      optimizer.step();
    }
    EXPECT_TRUE(at::isfinite(conv.weight).all().item<bool>()) << name;
    EXPECT_LT(conv.weight.max().item<float>(), 1.0f) << name;
  });
}

TEST(OptimizersTest, AParameterWithoutGradientStaysAndMayGetOneLater) {
  for_each_optimizer([]<class O>(const char* name) {
    const std::vector<at::Tensor> parameters = {at::ones({2}).requires_grad_(), at::ones({2}).requires_grad_()};
    O optimizer(parameters);
    parameters[0].mutable_grad() = at::ones({2});
    optimizer.step();
    const float after_one = parameters[0][0].item<float>();
    EXPECT_LT(after_one, 1.0f) << name;
    EXPECT_EQ(parameters[1][0].item<float>(), 1.0f) << name;
    EXPECT_EQ(optimizer.state().size(), 1u) << name;
    parameters[0].mutable_grad().reset();
    parameters[1].mutable_grad() = at::ones({2});
    optimizer.step();
    EXPECT_EQ(parameters[0][0].item<float>(), after_one) << name;
    EXPECT_EQ(parameters[1][0].item<float>(), after_one) << name;  // its own first step
  });
}

TEST(OptimizersTest, ADtypeIsABucketOfItsOwn) {
  const std::vector<at::Tensor> parameters = {at::ones({2}).requires_grad_(),
                                              at::ones({2}, at::kDouble).requires_grad_()};
  Adam optimizer(parameters, {.lr = 0.5});
  for (const at::Tensor& parameter : parameters) parameter.mutable_grad() = at::empty_like(parameter).fill_(3);
  optimizer.step();
  EXPECT_NEAR(parameters[0][0].item<double>(), 0.5, 1e-6);
  EXPECT_NEAR(parameters[1][0].item<double>(), 0.5, 1e-8);  // eps
}

// The fused kernels walk through memory and take the strides for equal.
TEST(OptimizersTest, AGradientWithOtherStridesIsReadByPosition) {
  const at::Tensor parameter = at::ones({2, 3}).requires_grad_();
  SGD optimizer({parameter}, {.lr = 1.0});
  for (int step = 0; step < 2; ++step) {
    parameter.mutable_grad() = at::arange(6, at::kFloat).reshape({3, 2}).t();
    optimizer.step();
  }
  EXPECT_TRUE((parameter.detach() == 1 - 2 * at::arange(6, at::kFloat).reshape({3, 2}).t()).all().item<bool>())
      << parameter;
}

TEST(OptimizersTest, AComplexParameterIsStepped) {
  const at::Tensor parameter = at::ones({2}, at::kComplexDouble).requires_grad_();
  SGD optimizer({parameter}, {.lr = 0.5, .momentum = 0.5});
  for (int step = 0; step < 2; ++step) {
    parameter.mutable_grad() = at::ones({2}, at::kComplexDouble) * c10::complex<double>(0, 1);
    optimizer.step();
  }
  EXPECT_EQ(parameter[1].item<c10::complex<double>>(), c10::complex<double>(1, -1.25));  // 0.5 * (1 + 1.5)
}

TEST(OptimizersTest, WhatCannotBeSteppedIsNamed) {
  const auto step_error = [](const at::Tensor& parameter, const at::Tensor& gradient) {
    Adam optimizer({parameter});
    parameter.mutable_grad() = gradient;
    return error_text<ModelError>([&] { optimizer.step(); });
  };
  EXPECT_EQ(step_error(at::ones({2}).requires_grad_(), at::ones({2}).to_sparse()),
            "[Adam] gradients must be dense, got a sparse one for a parameter float32 [2]. Switch the layer's sparse "
            "gradients off, or take torch::optim::SGD or torch::optim::Adagrad.");
  const at::Tensor strided = at::ones({4, 4}).slice(1, 0, 4, 2).requires_grad_();
  EXPECT_EQ(step_error(strided, at::ones({4, 2})),
            "[Adam] a parameter must be one dense block of memory, got float32 [4, 2] with strides [4, 2]. Make it a "
            "leaf of its own, for example with clone().");
}

TEST(OptimizersTest, AParameterThatChangesItsDtypeIsNamed) {
  const at::Tensor parameter = at::ones({2}).requires_grad_();
  AdamW optimizer({parameter});
  parameter.mutable_grad() = at::ones({2});
  optimizer.step();
  parameter.mutable_grad().reset();
  parameter.set_data(at::ones({2}, at::kDouble));
  parameter.mutable_grad() = at::ones({2}, at::kDouble);
  EXPECT_EQ(error_text<ModelError>([&] { optimizer.step(); }),
            "[AdamW] a parameter must keep its dtype and device, got float64 [2] on cpu with a state of float32 [2] on "
            "cpu. Make the optimizer after the module has been converted and moved.");
}

TEST(OptimizersTest, AChangedMemoryFormatIsFollowed) {
  const at::Tensor parameter = at::ones({2, 3}).requires_grad_();
  SGD optimizer({parameter}, {.lr = 1.0, .momentum = 1.0});
  const at::Tensor gradient = at::arange(6, at::kFloat).reshape({2, 3});
  parameter.mutable_grad() = gradient;
  optimizer.step();
  parameter.set_data(parameter.detach().t().contiguous().t());
  optimizer.step();
  EXPECT_TRUE((parameter.detach() == 1 - 3 * gradient).all().item<bool>()) << parameter;
}

// Large parameters are split over the threads, small ones handed out to them.
TEST(OptimizersTest, LargeAndSmallParametersAreSteppedAlike) {
  std::vector<at::Tensor> parameters;
  for (const int64_t numel : {7, 50000, 1, 40000, 130, 30000, 30000, 30000})
    parameters.push_back(at::ones({numel}).requires_grad_());
  AdamW optimizer(parameters, {.lr = 0.5, .weight_decay = 0.0});
  const int num_threads = at::get_num_threads();
  for (const at::Tensor& parameter : parameters) parameter.mutable_grad() = at::full_like(parameter, 3);
  optimizer.step();
  for (const at::Tensor& parameter : parameters) {
    EXPECT_LT((parameter - 0.5).abs().max().item<double>(), 1e-6) << parameter.numel();
  }
  EXPECT_EQ(at::get_num_threads(), num_threads);
}

template <class O>
std::string option_error(const typename O::Options& options) {
  return error_text<ConfigError>([&] { O optimizer(one_parameter(), options); });
}

TEST(OptimizersTest, WrongOptionsAreNamed) {
  EXPECT_EQ(option_error<SGD>({.lr = -1, .momentum = -2, .weight_decay = -3}),
            "[SGD] lr must be >= 0, got -1; momentum must be >= 0, got -2; weight_decay must be >= 0, got -3.");
  EXPECT_EQ(option_error<SGD>({.nesterov = true}),
            "[SGD] nesterov needs momentum > 0 and dampening 0, got momentum 0 and dampening 0.");
  EXPECT_EQ(option_error<Adam>({.betas = {0.9}}), "[Adam] betas must be two numbers, got 1.");
  EXPECT_EQ(option_error<Adam>({.betas = {0.9, 1.0}}), "[Adam] betas must be in [0, 1), got 1.");
  EXPECT_EQ(option_error<AdamW>({.betas = {std::numeric_limits<double>::quiet_NaN(), 0.9}}),
            "[AdamW] betas must be in [0, 1), got nan.");
  EXPECT_EQ(option_error<RMSprop>({.alpha = 1.5}), "[RMSprop] alpha must be between 0 and 1, got 1.5.");
  EXPECT_EQ(option_error<Lion>({.betas = {-0.5, 0.9}}), "[Lion] betas must be in [0, 1), got -0.5.");
  EXPECT_EQ(option_error<Adafactor>({.d = 0.5}), "[Adafactor] d must be >= 1, got 0.5.");
  EXPECT_EQ(option_error<Muon>({.ns_coefficients = {1}, .adamw_betas = {}}),
            "[Muon] adamw_betas must be two numbers, got 0; ns_coefficients must be three numbers, got 1.");
  EXPECT_EQ(error_text<ConfigError>([] { make_lbfgs(one_parameter(), {.line_search_fn = "armijo"}); }),
            "[LBFGS] line_search_fn must be one of: none, strong_wolfe, got armijo.");
}

TEST(OptimizersTest, OptionsOfAnotherOptimizerAreRefused) {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(one_parameter(), std::make_unique<GroupOptions<SgdOptions>>(SgdOptions{}));
  EXPECT_EQ(error_text<ConfigError>([&] { AdamW optimizer(groups); }),
            "[AdamW] a parameter group must have the options of AdamW.");
}

TEST(MuonTest, TakesHiddenMatricesAndGivesTheRestToAdamW) {
  NamedParameters parameters = problem_parameters();
  parameters.emplace_back("embedding.weight", at::ones({4, 3}).requires_grad_());
  const Muon muon(parameters, {.lr = 0.5, .adamw_lr = 0.25, .adamw_parameters = {"embed*"}});
  ASSERT_EQ(muon.param_groups().size(), 2u);
  const auto& hidden = muon.param_groups()[0];
  const auto& others = muon.param_groups()[1];
  ASSERT_EQ(hidden.params().size(), 2u);
  EXPECT_TRUE(hidden.params()[1].is_same(parameters[1].second));
  EXPECT_EQ(hidden.options().get_lr(), 0.5);
  ASSERT_EQ(others.params().size(), 2u);
  EXPECT_TRUE(others.params()[1].is_same(parameters[3].second));
  EXPECT_EQ(others.options().get_lr(), 0.25);
  EXPECT_EQ(error_text<ConfigError>([&] { Muon(parameters, {.adamw_parameters = {"head*"}}); }),
            "[Muon] adamw_parameters must match the names of parameters, got \"head*\", which matches none of: "
            "hidden.weight, tall.weight, hidden.bias, embedding.weight.");
}

TEST(MakeOptimizerTest, NoDecayMakesAGroupWithoutWeightDecay) {
  const NamedParameters parameters = problem_parameters();
  const auto optimizer = make_optimizer<AdamW>(parameters, {.weight_decay = 0.5}, {"*.bias", "tall*"});
  ASSERT_EQ(optimizer->param_groups().size(), 2u);
  const auto decay_of = [&](size_t group) {
    return static_cast<const GroupOptions<AdamWOptions>&>(optimizer->param_groups()[group].options())
        .fields.weight_decay;
  };
  EXPECT_EQ(decay_of(0), 0.5);
  EXPECT_EQ(decay_of(1), 0.0);
  ASSERT_EQ(optimizer->param_groups()[1].params().size(), 2u);
  EXPECT_TRUE(optimizer->param_groups()[1].params()[0].is_same(parameters[1].second));
  EXPECT_EQ(make_optimizer<AdamW>(parameters, {}, {"*"})->param_groups().size(), 1u);
  EXPECT_EQ(make_optimizer<Muon>(parameters, {}, {"tall*"})->param_groups().size(), 3u);
  EXPECT_EQ(error_text<ConfigError>([&] { make_optimizer<SGD>(parameters, {}, {"bias"}); }),
            "[optimizer] no_decay must match the names of parameters, got \"bias\", which matches none of: "
            "hidden.weight, tall.weight, hidden.bias.");
}

TEST(ScaledLearningRateTest, FollowsTheRule) {
  EXPECT_EQ(scaled_learning_rate(0.1, LearningRateScaling::kNone, 1024, 256), 0.1);
  EXPECT_EQ(scaled_learning_rate(0.1, LearningRateScaling::kLinear, 1024, 256), 0.4);
  EXPECT_EQ(scaled_learning_rate(0.1, LearningRateScaling::kSqrt, 1024, 256), 0.2);
  EXPECT_EQ(error_text<ConfigError>([] { scaled_learning_rate(0.1, LearningRateScaling::kSqrt, 8, 0); }),
            "[scaled_learning_rate] batch sizes must be >= 1, got 8 and the reference 0.");
}

}  // namespace
}  // namespace levin
