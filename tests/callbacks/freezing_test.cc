#include "callbacks/freezing.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include "trainer/core/error.h"

namespace levin {
namespace {

namespace nn = torch::nn;

struct Backbone : nn::Module {
  Backbone() {
    linear = register_module("linear", nn::Linear(2, 2));
    norm = register_module("norm", nn::BatchNorm1d(2));
  }
  nn::Linear linear = nullptr;
  nn::BatchNorm1d norm = nullptr;
};

struct Model : nn::Module {
  Model() { backbone = register_module("backbone", std::make_shared<Backbone>()); }
  std::shared_ptr<Backbone> backbone;
};

TEST(FreezingTest, BatchNormGoesOnLearningWithTrainBn) {
  Model model;
  model.backbone->linear->weight.mutable_grad() = at::ones({2, 2});
  freeze(model, true);
  EXPECT_FALSE(model.backbone->linear->weight.requires_grad());
  EXPECT_FALSE(model.backbone->linear->weight.grad().defined());
  EXPECT_TRUE(model.backbone->norm->weight.requires_grad());
  EXPECT_TRUE(model.backbone->norm->is_training());
}

TEST(FreezingTest, BatchNormStaysWithoutTrainBnUntilItIsThawed) {
  Model model;
  freeze(model, false);
  EXPECT_FALSE(model.backbone->norm->weight.requires_grad());
  EXPECT_FALSE(model.backbone->norm->is_training());
  EXPECT_TRUE(model.backbone->linear->is_training());
  unfreeze(model);
  EXPECT_TRUE(model.backbone->norm->weight.requires_grad());
  EXPECT_TRUE(model.backbone->linear->weight.requires_grad());
  EXPECT_TRUE(model.backbone->norm->is_training());
}

TEST(FreezingTest, SubmoduleIsFoundByItsDottedName) {
  Model model;
  EXPECT_EQ(&find_submodule(model, "backbone.norm", "Test"), model.backbone->norm.get());
  EXPECT_EQ(&find_submodule(model, "", "Test"), &model);
  try {
    find_submodule(model, "backbone.conv", "Test");
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "[Test] each module must be the name of a submodule, got \"backbone.conv\": there is no \"conv\" among "
        "linear, norm.");
  }
}

}  // namespace
}  // namespace levin
