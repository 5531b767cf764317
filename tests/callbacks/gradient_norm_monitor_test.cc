#include "callbacks/gradient_norm_monitor.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/callbacks/fake_run.h"
#include "tests/callbacks/tiny_module.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

// weight (tied) has the gradient [3, 4], scale [12], and unused none.
struct GradientModule : TinyModule {
  explicit GradientModule(at::ScalarType dtype = at::kFloat) : TinyModule(dtype) {
    scale = register_parameter("scale", at::zeros({1}, dtype));
    register_parameter("unused", at::zeros({1}, dtype));
    set_gradients(1.0);
  }
  void set_gradients(double factor) {
    weight.mutable_grad() = (at::tensor({3.0, 4.0}) * factor).to(weight.scalar_type());
    scale.mutable_grad() = (at::tensor({12.0}) * factor).to(scale.scalar_type());
  }
  at::Tensor scale;
};

Metrics logged_with(const GradientNormMonitor::Options& options, LightningModule& module, bool is_logging_step = true) {
  FakeRun run;
  run.module = &module;
  run.is_logging_step = is_logging_step;
  GradientNormMonitor(options).on_before_optimizer_step(run.context(Stage::kTrain));
  return run.control.logged;
}

// sqrt(9 + 16 + 144) = 13; with the tied parameter counted twice it would be 13.93.
TEST(GradientNormMonitorTest, TotalIsTheNormOfAllNumbersTogether) {
  GradientModule module;
  EXPECT_EQ(logged_with({}, module).find("grad_norm"), 13.0);
  EXPECT_EQ(logged_with({.norm_type = 1.0}, module).find("grad_norm"), 19.0);
  EXPECT_EQ(logged_with({.norm_type = std::numeric_limits<double>::infinity()}, module).find("grad_norm"), 12.0);
}

TEST(GradientNormMonitorTest, EachParameterHasItsNameAndNorm) {
  GradientModule module;
  const Metrics logged = logged_with({.per_parameter = true}, module);
  EXPECT_EQ(logged.size(), 3u);
  EXPECT_EQ(logged.find("grad_norm"), 13.0);
  EXPECT_EQ(logged.find("grad_norm/weight"), 5.0);
  EXPECT_EQ(logged.find("grad_norm/scale"), 12.0);
}

TEST(GradientNormMonitorTest, NothingIsLoggedBetweenLoggingSteps) {
  GradientModule module;
  EXPECT_TRUE(logged_with({}, module, false).empty());
}

// 13 * 8000 = 104000 is above the largest half number, 65504.
TEST(GradientNormMonitorTest, NormOfHalfGradientsMayLeaveTheirRange) {
  GradientModule module(at::kHalf);
  module.set_gradients(4000.0);
  EXPECT_EQ(logged_with({}, module).find("grad_norm"), 52000.0);
  module.scale.mutable_grad() = at::ones({1}, at::kHalf) * 60000.0;
  module.weight.mutable_grad() = at::ones({2}, at::kHalf) * 60000.0;
  EXPECT_NEAR(*logged_with({}, module).find("grad_norm"), 103923.0, 50.0);
}

TEST(GradientNormMonitorTest, GradientsOfSeveralDtypesGoTogether) {
  GradientModule module;
  const at::Tensor extra = module.register_parameter("extra", at::zeros({1}, at::kDouble));
  extra.mutable_grad() = at::ones({1}, at::kDouble) * 84.0;  // 13, 84, 85 are Pythagorean
  EXPECT_NEAR(*logged_with({}, module).find("grad_norm"), 85.0, 1e-9);
}

TEST(GradientNormMonitorTest, SparseGradientsCount) {
  GradientModule module;
  // Two entries at one place add up to [3, 4].
  module.weight.mutable_grad() =
      at::sparse_coo_tensor(at::tensor({0, 1, 0}, at::kLong).reshape({1, 3}), at::tensor({1.0F, 4.0F, 2.0F}), {2});
  EXPECT_EQ(logged_with({}, module).find("grad_norm"), 13.0);
}

TEST(GradientNormMonitorTest, ModuleWithoutGradientsLogsNothing) {
  TinyModule module;
  EXPECT_TRUE(logged_with({}, module).empty());
}

TEST(GradientNormMonitorTest, NormTypeMustBePositive) {
  EXPECT_THROW(GradientNormMonitor({.norm_type = 0.0}), ConfigError);
}

}  // namespace
}  // namespace levin
