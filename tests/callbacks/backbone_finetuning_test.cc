#include "callbacks/backbone_finetuning.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/sgd.h>

#include "tests/callbacks/fake_run.h"
#include "trainer/core/error.h"
#include "trainer/core/lightning_module.h"

namespace levin {
namespace {

namespace nn = torch::nn;
using testing::ElementsAre;
using testing::HasSubstr;
using Group = torch::optim::OptimizerParamGroup;
using torch::optim::SGDOptions;

struct Encoder : nn::Module {
  Encoder() {
    linear = register_module("linear", nn::Linear(2, 2));
    norm = register_module("norm", nn::BatchNorm1d(2));
  }
  nn::Linear linear = nullptr;
  nn::BatchNorm1d norm = nullptr;
};

struct Model : LightningModule {
  Model() {
    backbone = register_module("backbone", std::make_shared<Encoder>());
    head = register_module("head", nn::Linear(2, 1));
  }
  StepOutput training_step(const Batch& /*batch*/, StepContext& /*ctx*/) override { return StepOutput::skip(); }

  std::shared_ptr<Encoder> backbone;
  nn::Linear head = nullptr;
};

std::string option_error(const BackboneFinetuning::Options& options) {
  try {
    BackboneFinetuning callback(options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::vector<double> rates(const BackboneFinetuning::Options& options, const std::vector<double>& main_rates) {
  const BackboneFinetuning callback(options);
  std::vector<double> result;
  for (const double main_lr : main_rates) {
    result.push_back(callback.learning_rate(static_cast<int64_t>(result.size()), main_lr));
  }
  return result;
}

TEST(BackboneFinetuningRateTest, GrowsFromTheThawToTheMainRate) {
  const std::vector<double> steady(7, 8.0);
  EXPECT_THAT(rates({.unfreeze_backbone_at_epoch = 2, .backbone_initial_ratio_lr = 0.25}, steady),
              ElementsAre(0, 0, 2, 4, 8, 8, 8));
  EXPECT_THAT(rates({.unfreeze_backbone_at_epoch = 2,
                     .multiplier = 3.0,
                     .backbone_initial_ratio_lr = 0.25,
                     .should_align = false},
                    steady),
              ElementsAre(0, 0, 2, 6, 18, 54, 162));
  // Defaults: 0.1 at epoch 10, doubled.
  const BackboneFinetuning callback;
  EXPECT_EQ(callback.learning_rate(9, 1.0), 0.0);
  EXPECT_DOUBLE_EQ(callback.learning_rate(10, 1.0), 0.1);
  EXPECT_DOUBLE_EQ(callback.learning_rate(12, 1.0), 0.4);
  EXPECT_DOUBLE_EQ(callback.learning_rate(14, 1.0), 1.0);
  EXPECT_EQ(callback.learning_rate(5000, 0.0), 0.0);  // the power is infinite
}

TEST(BackboneFinetuningRateTest, InitialRateStandsForItself) {
  const BackboneFinetuning::Options options = {.unfreeze_backbone_at_epoch = 1, .backbone_initial_lr = 0.5};
  EXPECT_THAT(rates(options, {8, 8, 8, 1, 8}), ElementsAre(0, 0.5, 1, 1, 4));
}

TEST(BackboneFinetuningRateTest, ScheduleActsOnTheBackboneToo) {
  const BackboneFinetuning::Options options = {.unfreeze_backbone_at_epoch = 0, .backbone_initial_ratio_lr = 0.25};
  EXPECT_THAT(rates(options, {8, 4, 4, 2}), ElementsAre(2, 2, 4, 2));
}

class BackboneFinetuningTest : public testing::Test {
 protected:
  BackboneFinetuningTest() {
    run.module = &model;
    run.optimizers = &optimizers;
  }
  RunContext train() { return run.context(Stage::kTrain); }
  void add_sgd(std::vector<Group> groups) {
    optimizers.add(std::make_unique<torch::optim::SGD>(std::move(groups), SGDOptions(1.0)));
  }
  void add_sgd() { add_sgd({Group(model.parameters())}); }
  void start(BackboneFinetuning& callback, int64_t epoch) {
    run.state.epoch = epoch;
    callback.on_after_configure_optimizers(train());
    callback.on_fit_start(train());
  }
  std::string start_error(const BackboneFinetuning::Options& options) {
    BackboneFinetuning callback(options);
    try {
      callback.on_after_configure_optimizers(train());
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }
  Group& group(size_t index) { return optimizers[0].param_groups()[index]; }
  size_t num_groups() { return optimizers[0].param_groups().size(); }
  // How many parameters each group has.
  std::vector<size_t> sizes() {
    std::vector<size_t> result;
    for (const Group& each : optimizers[0].param_groups()) result.push_back(each.params().size());
    return result;
  }

  Model model;
  Optimizers optimizers;
  FakeRun run;
};

TEST_F(BackboneFinetuningTest, BackboneHasAGroupOfItsOwnAndBatchNormStaysInTheOther) {
  add_sgd();
  BackboneFinetuning callback;
  start(callback, 0);
  EXPECT_THAT(sizes(), ElementsAre(4, 2));
  EXPECT_TRUE(group(1).params()[0].is_same(model.backbone->linear->weight));
  EXPECT_TRUE(group(0).params()[0].is_same(model.backbone->norm->weight));
  EXPECT_THAT(optimizers.base_learning_rates(0), ElementsAre(1, 1));
  EXPECT_FALSE(model.backbone->linear->weight.requires_grad());
  EXPECT_TRUE(model.backbone->norm->weight.requires_grad());
  EXPECT_TRUE(model.head->weight.requires_grad());
  EXPECT_THAT(learning_rates(optimizers[0]), ElementsAre(1, 0));
}

// As no_decay makes them: what belongs to the backbone keeps its weight decay and its base rate.
TEST_F(BackboneFinetuningTest, EachGroupIsSplitWithItsOptions) {
  add_sgd({Group({model.backbone->linear->weight, model.head->weight},
                 std::make_unique<SGDOptions>(SGDOptions(4.0).weight_decay(0.5))),
           Group({model.backbone->linear->bias}, std::make_unique<SGDOptions>(2.0)), Group({model.head->bias})});
  BackboneFinetuning callback({.unfreeze_backbone_at_epoch = 0, .backbone_initial_ratio_lr = 0.25});
  start(callback, 0);
  EXPECT_THAT(sizes(), ElementsAre(1, 0, 1, 1, 1));
  EXPECT_TRUE(group(3).params()[0].is_same(model.backbone->linear->weight));
  EXPECT_EQ(static_cast<SGDOptions&>(group(3).options()).weight_decay(), 0.5);
  EXPECT_EQ(static_cast<SGDOptions&>(group(4).options()).weight_decay(), 0.0);
  EXPECT_THAT(optimizers.base_learning_rates(0), ElementsAre(4, 2, 1, 4, 2));
  EXPECT_THAT(learning_rates(optimizers[0]), ElementsAre(4, 2, 1, 1, 0.5));
}

TEST_F(BackboneFinetuningTest, RateIsSetAgainAfterASchedule) {
  add_sgd();
  BackboneFinetuning callback({.unfreeze_backbone_at_epoch = 1, .backbone_initial_ratio_lr = 0.5});
  start(callback, 1);
  EXPECT_THAT(learning_rates(optimizers[0]), ElementsAre(1, 0.5));
  const auto schedule = [&](double rate) {
    for (Group& each : optimizers[0].param_groups()) each.options().set_lr(rate);
  };
  schedule(0.25);
  callback.on_train_batch_start(train(), Batch());
  EXPECT_THAT(learning_rates(optimizers[0]), ElementsAre(0.25, 0.125));
  schedule(0.5);
  callback.on_before_optimizer_step(train());
  EXPECT_THAT(learning_rates(optimizers[0]), ElementsAre(0.5, 0.25));
  run.state.epoch = 2;
  callback.on_train_epoch_start(train());
  EXPECT_THAT(learning_rates(optimizers[0]), ElementsAre(0.5, 0.5));
}

TEST_F(BackboneFinetuningTest, ThawAtTheStartOfItsEpochAndNotBefore) {
  add_sgd();
  BackboneFinetuning callback({.unfreeze_backbone_at_epoch = 3});
  start(callback, 0);
  const at::Tensor& weight = model.backbone->linear->weight;
  for (const int64_t epoch : {0, 1, 2, 3, 4}) {
    run.state.epoch = epoch;
    callback.on_train_epoch_start(train());
    EXPECT_EQ(weight.requires_grad(), epoch >= 3) << epoch;
  }
}

// on_train_epoch_start is not called for the epoch that a resumed fit begins in.
TEST_F(BackboneFinetuningTest, ResumedFitHasWhatItsEpochSays) {
  add_sgd();
  BackboneFinetuning callback({.unfreeze_backbone_at_epoch = 3, .backbone_initial_ratio_lr = 0.25});
  start(callback, 4);
  EXPECT_TRUE(model.backbone->linear->weight.requires_grad());
  EXPECT_THAT(learning_rates(optimizers[0]), ElementsAre(1, 0.5));
}

TEST_F(BackboneFinetuningTest, WithoutTrainBnBatchNormStaysToo) {
  add_sgd();
  BackboneFinetuning callback({.unfreeze_backbone_at_epoch = 1, .train_bn = false});
  start(callback, 0);
  EXPECT_THAT(sizes(), ElementsAre(2, 4));
  EXPECT_FALSE(model.backbone->norm->weight.requires_grad());
  EXPECT_FALSE(model.backbone->norm->is_training());
  run.state.epoch = 1;
  callback.on_train_epoch_start(train());
  EXPECT_TRUE(model.backbone->norm->weight.requires_grad());
  EXPECT_TRUE(model.backbone->norm->is_training());
}

TEST_F(BackboneFinetuningTest, WhatWasFrozenBeforeStaysFrozen) {
  add_sgd();
  model.backbone->linear->bias.set_requires_grad(false);
  BackboneFinetuning callback({.unfreeze_backbone_at_epoch = 1});
  start(callback, 0);
  EXPECT_THAT(sizes(), ElementsAre(5, 1));
  run.state.epoch = 1;
  callback.on_train_epoch_start(train());
  EXPECT_TRUE(model.backbone->linear->weight.requires_grad());
  EXPECT_FALSE(model.backbone->linear->bias.requires_grad());
}

TEST_F(BackboneFinetuningTest, AfterTheFitNothingIsFrozenAndItCanBeFittedAgain) {
  add_sgd();
  BackboneFinetuning callback({.train_bn = false});
  callback.teardown(train());  // a fit that failed early
  start(callback, 0);
  callback.teardown(train());
  for (const at::Tensor& parameter : model.parameters()) EXPECT_TRUE(parameter.requires_grad());
  EXPECT_TRUE(model.backbone->norm->is_training());
  optimizers = {};
  add_sgd();
  start(callback, 0);
  EXPECT_THAT(sizes(), ElementsAre(2, 4));
}

TEST_F(BackboneFinetuningTest, SeveralPartsEachParameterOnce) {
  add_sgd();
  BackboneFinetuning callback({.backbone = {"backbone.linear", "backbone", "backbone.norm"}, .train_bn = false});
  start(callback, 0);
  EXPECT_THAT(sizes(), ElementsAre(2, 4));
}

// A gradual thaw: the lower part comes later.
TEST_F(BackboneFinetuningTest, TwoOfThemThawOneAfterTheOther) {
  add_sgd();
  BackboneFinetuning upper({.backbone = {"backbone.norm"}, .unfreeze_backbone_at_epoch = 1, .train_bn = false});
  BackboneFinetuning lower({.backbone = {"backbone.linear"}, .unfreeze_backbone_at_epoch = 2});
  start(upper, 1);
  start(lower, 1);
  EXPECT_THAT(sizes(), ElementsAre(2, 2, 2));
  EXPECT_THAT(learning_rates(optimizers[0]), ElementsAre(1, 0.1, 0));
  EXPECT_TRUE(model.backbone->norm->weight.requires_grad());
  EXPECT_FALSE(model.backbone->linear->weight.requires_grad());
}

TEST_F(BackboneFinetuningTest, EachOptimizerThatHoldsSomeIsSplit) {
  add_sgd({Group(model.backbone->parameters())});
  add_sgd({Group(model.head->parameters())});
  BackboneFinetuning callback;
  start(callback, 0);
  EXPECT_THAT(sizes(), ElementsAre(2, 2));
  EXPECT_EQ(optimizers[1].param_groups().size(), 1u);
}

TEST_F(BackboneFinetuningTest, ParametersThatNoOptimizerHasAreNamed) {
  add_sgd({Group(model.head->parameters())});
  EXPECT_EQ(start_error({}),
            "[BackboneFinetuning] each parameter of the backbone must be in an optimizer from the start, got none for "
            "backbone.linear.weight, backbone.linear.bias. Hand all parameters() over in configure_optimizers; this "
            "callback freezes them afterwards.");
  EXPECT_TRUE(model.backbone->linear->weight.requires_grad());
  EXPECT_THAT(sizes(), ElementsAre(2));
}

TEST_F(BackboneFinetuningTest, LongListsOfParametersAreCut) {
  struct Deep : LightningModule {
    Deep() {
      for (int i = 0; i < 10; ++i) register_parameter("p" + std::to_string(i), at::ones({1}));
    }
    StepOutput training_step(const Batch& /*batch*/, StepContext& /*ctx*/) override { return StepOutput::skip(); }
  } deep;
  run.module = &deep;
  add_sgd();
  EXPECT_THAT(start_error({.backbone = {""}}), HasSubstr("p6, p7 and 2 more."));
}

TEST_F(BackboneFinetuningTest, UnknownNamesAreRefusedWithTheNearest) {
  add_sgd();
  EXPECT_EQ(start_error({.backbone = {"bakbone"}}),
            "[BackboneFinetuning] each module must be the name of a submodule, got \"bakbone\": there is no "
            "\"bakbone\" among backbone, head. Did you mean \"backbone\"?");
}

TEST_F(BackboneFinetuningTest, SomethingMustBeThereToFreezeAndToTrain) {
  add_sgd();
  EXPECT_THAT(start_error({.backbone = {""}, .train_bn = false}), HasSubstr("something must be left to train"));
  EXPECT_EQ(num_groups(), 1u);
  EXPECT_EQ(start_error({.backbone = {"backbone", "head"}}), "");  // BatchNorm is left
  EXPECT_THAT(start_error({.backbone = {"backbone.norm"}}), HasSubstr("got none in backbone.norm."));
  for (at::Tensor& parameter : model.parameters()) parameter.set_requires_grad(false);
  EXPECT_THAT(start_error({}), HasSubstr("Freeze nothing before the fit"));
}

TEST_F(BackboneFinetuningTest, OptimizersWithoutRatesOrGroupsAreRefused) {
  optimizers.add(std::make_unique<torch::optim::LBFGS>(model.parameters()));
  EXPECT_THAT(start_error({}), HasSubstr("LBFGS has one learning rate"));
  struct BareOptions : torch::optim::OptimizerCloneableOptions<BareOptions> {};
  struct Bare : Optimizer {
    explicit Bare(std::vector<at::Tensor> parameters)
        : Optimizer(std::vector<Group>{Group(std::move(parameters))}, std::make_unique<BareOptions>()) {}
    at::Tensor step(LossClosure /*closure*/ = nullptr) override { return {}; }
  };
  optimizers = std::make_unique<Bare>(model.parameters());
  EXPECT_THAT(start_error({}), HasSubstr("group 0 of optimizer 0 must have a learning rate"));
}

TEST(BackboneFinetuningOptionsTest, AllThatAreWrongAreNamed) {
  EXPECT_EQ(
      option_error({.backbone = {},
                    .unfreeze_backbone_at_epoch = -1,
                    .multiplier = 0.0,
                    .backbone_initial_ratio_lr = -1.0,
                    .backbone_initial_lr = 0.0}),
      "[BackboneFinetuning] unfreeze_backbone_at_epoch must be >= 0, got -1; multiplier must be > 0, got 0; "
      "backbone_initial_ratio_lr must be > 0, got -1; backbone_initial_lr must be > 0, got 0; backbone must name a "
      "submodule, got [].");
  EXPECT_EQ(option_error({}), "");
}

}  // namespace
}  // namespace levin
