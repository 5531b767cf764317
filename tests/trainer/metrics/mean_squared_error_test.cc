#include "trainer/metrics/mean_squared_error.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

double compute(const MeanSquaredError& metric) {
  SingleProcessCommunicator communicator;
  return metric.compute(communicator);
}

TEST(MeanSquaredErrorTest, ElementsCountAlikeOverBatches) {
  MeanSquaredError metric;
  metric.update(at::tensor({1.0F, 2.0F, 3.0F}), at::tensor({1.0F, 4.0F, 0.0F}));
  metric.update(at::tensor({5.0F}), at::tensor({4.0F}));
  EXPECT_EQ(compute(metric), 3.5);  // (0 + 4 + 9 + 1) / 4
}

TEST(MeanSquaredErrorTest, TheRootIsTakenAtTheEnd) {
  MeanSquaredError metric({.root = true});
  metric.update(at::tensor({3.0F}), at::tensor({0.0F}));
  metric.update(at::tensor({1.0F, 1.0F, 0.0F}), at::tensor({5.0F, 1.0F, 0.0F}));
  EXPECT_EQ(compute(metric), 2.5);  // sqrt((9 + 16) / 4)
}

TEST(MeanSquaredErrorTest, AddsInDouble) {
  // In float32 the sum would stay at 2^24.
  MeanSquaredError metric;
  metric.update(at::full({1}, 4096.0F), at::zeros({1}));
  for (int i = 0; i < 7; ++i) metric.update(at::full({1}, 1.0F), at::zeros({1}));
  EXPECT_EQ(compute(metric), ((1 << 24) + 7) / 8.0);
}

TEST(MeanSquaredErrorTest, TakesAnyShapeAndRealType) {
  MeanSquaredError metric;
  metric.update(at::full({2, 2}, 3, at::kInt), at::full({2, 2}, 1.0, at::kBFloat16));
  EXPECT_EQ(compute(metric), 4.0);
}

TEST(MeanSquaredErrorTest, KeepsNoGraph) {
  const at::Tensor predictions = at::zeros({2}).requires_grad_();
  MeanSquaredError metric;
  metric.update(predictions, at::zeros({2}));
  EXPECT_FALSE(metric.state().tensor("sum").requires_grad());
}

TEST(MeanSquaredErrorTest, WrongShapesAndTypesAreErrors) {
  MeanSquaredError metric;
  EXPECT_EQ(error_text<ModelError>([&] {
              metric.update(at::zeros({4, 1}), at::zeros({4}));
            }),
            "[MeanSquaredError] predictions and targets must be real numbers of one shape, got predictions float32 [4, "
            "1] and targets float32 [4].");
  EXPECT_THROW(metric.update(at::zeros({2}), at::zeros({2}, at::kBool)), ModelError);
  EXPECT_THROW(metric.update(at::zeros({2}, at::kComplexFloat), at::zeros({2})), ModelError);
  EXPECT_THROW(metric.update(at::Tensor(), at::zeros({2})), ModelError);
  EXPECT_TRUE(std::isnan(compute(metric)));
}

}  // namespace
}  // namespace levin
