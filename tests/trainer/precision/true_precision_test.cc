#include "trainer/precision/true_precision.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DefaultDtype.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include <stdexcept>

#include "trainer/core/error.h"

namespace levin {
namespace {

TEST(TruePrecisionTest, NamesAreThoseOfTheOptions) {
  EXPECT_EQ(TruePrecision(at::kFloat).name(), "32-true");
  EXPECT_EQ(TruePrecision(at::kDouble).name(), "64-true");
  EXPECT_THROW(TruePrecision{at::kHalf}, InternalError);
}

TEST(TruePrecisionTest, ConvertsFloatingParametersAndBuffersOnly) {
  torch::nn::BatchNorm1d norm(4);
  TruePrecision(at::kDouble).convert_module(*norm);
  EXPECT_EQ(norm->weight.scalar_type(), at::kDouble);
  EXPECT_EQ(norm->running_mean.scalar_type(), at::kDouble);
  EXPECT_EQ(norm->num_batches_tracked.scalar_type(), at::kLong);
  EXPECT_TRUE(norm->weight.requires_grad());
}

TEST(TruePrecisionTest, ModulesWithoutOptionalTensorsWork) {
  torch::nn::BatchNorm1d norm(torch::nn::BatchNorm1dOptions(4).affine(false));
  TruePrecision(at::kDouble).convert_module(*norm);
  EXPECT_EQ(norm->running_var.scalar_type(), at::kDouble);
}

TEST(TruePrecisionTest, ConvertsFloatingInputsOnly) {
  const Batch batch = Batch::Fields{{"x", at::zeros({2})}, {"ids", at::arange(2)}};
  const Batch converted = TruePrecision(at::kDouble).convert_input(batch);
  EXPECT_EQ(converted["x"].tensor().scalar_type(), at::kDouble);
  EXPECT_TRUE(converted["ids"].tensor().is_same(batch["ids"].tensor()));
  EXPECT_TRUE(TruePrecision(at::kFloat).convert_input(batch)["x"].tensor().is_same(batch["x"].tensor()));
}

TEST(TruePrecisionTest, NewTensorsInAStepAreDoubleAndTheDefaultComesBack) {
  const TruePrecision precision(at::kDouble);
  try {
    const auto scope = precision.forward_scope();
    EXPECT_EQ(at::zeros({1}).scalar_type(), at::kDouble);
    throw std::runtime_error("a step fails");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(at::zeros({1}).scalar_type(), at::kFloat);
  EXPECT_EQ(TruePrecision(at::kFloat).forward_scope(), nullptr);
}

}  // namespace
}  // namespace levin
