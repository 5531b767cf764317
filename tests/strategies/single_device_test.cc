#include "strategies/single_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

class SingleDeviceTest : public testing::Test {
 protected:
  // x = 1, 2, 3, 4; y = 2x: the gradient at w = 0 is -30.
  Batch batch() const {
    const at::Tensor x = at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).unsqueeze(1);
    return Batch::of(x, x * 2);
  }

  TinyModel model_;
  SingleDeviceStrategy strategy_{at::Device(at::kCPU)};
};

TEST_F(SingleDeviceTest, ItIsOneProcessOnItsDevice) {
  EXPECT_EQ(strategy_.name(), "single");
  EXPECT_EQ(strategy_.device(), at::Device(at::kCPU));
  EXPECT_EQ(strategy_.communicator().rank(), 0);
  EXPECT_EQ(strategy_.communicator().world_size(), 1);
}

TEST_F(SingleDeviceTest, ParametersStayTheSameTensors) {
  const at::Tensor before = model_.w;
  strategy_.setup(model_);
  EXPECT_TRUE(model_.parameters()[0].is_same(before));
}

// Field case A23.
TEST_F(SingleDeviceTest, UndefinedParametersArePassedOver) {
  model_.register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  strategy_.setup(model_);
  TinyModel other;
  strategy_.load_model_state(other, strategy_.model_state(model_));
  EXPECT_EQ(other.weight(), model_.weight());
}

TEST_F(SingleDeviceTest, GradientsAddUpUntilTheStep) {
  Optimizers optimizers = model_.configure_optimizers();
  strategy_.backward(model_.loss(batch()), GradSync::kDefer);
  strategy_.backward(model_.loss(batch()), GradSync::kNow);
  EXPECT_NEAR(model_.w.grad().item<double>(), -60.0, 1e-5);
  strategy_.optimizer_step(optimizers[0]);
  EXPECT_NEAR(model_.weight(), 0.60, 1e-6);
}

TEST_F(SingleDeviceTest, StateGoesToAnotherModule) {
  {
    const at::NoGradGuard no_grad;
    model_.w.fill_(3.0);
  }
  TinyModel other;
  strategy_.load_model_state(other, strategy_.model_state(model_));
  EXPECT_EQ(other.weight(), 3.0);
  EXPECT_TRUE(other.w.requires_grad());
}

TEST_F(SingleDeviceTest, StateThatDoesNotFitChangesNothing) {
  TinyModel other;
  other.register_parameter("extra", at::tensor({1.0F}));
  {
    const at::NoGradGuard no_grad;
    other.w.fill_(3.0);
  }
  EXPECT_THAT(thrown_text<CheckpointError>([&] { strategy_.load_model_state(other, strategy_.model_state(model_)); }),
              testing::HasSubstr("extra"));
  EXPECT_EQ(other.weight(), 3.0);
}

}  // namespace
}  // namespace levin
