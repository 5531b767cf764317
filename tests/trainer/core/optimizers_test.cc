#include "trainer/core/optimizers.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

std::vector<at::Tensor> one_parameter() { return {at::ones({2}).requires_grad_()}; }

std::unique_ptr<torch::optim::SGD> sgd(double lr) { return std::make_unique<torch::optim::SGD>(one_parameter(), lr); }

struct HalfLr : Schedule {
  double learning_rate(double base_lr, int64_t /*step*/) const override { return base_lr / 2; }
};

struct NeedsMetric : HalfLr {
  bool needs_metric() const override { return true; }
};

// A user's optimizer whose options have no learning rate.
struct PlainOptions : torch::optim::OptimizerCloneableOptions<PlainOptions> {};
struct PlainOptimizer : Optimizer {
  PlainOptimizer() : Optimizer(one_parameter(), std::make_unique<PlainOptions>()) {}
  at::Tensor step(LossClosure /*closure*/) override { return {}; }
};

TEST(OptimizersTest, OneOptimizerConvertsAndHasNoSchedule) {
  const Optimizers optimizers = sgd(0.5);
  ASSERT_EQ(optimizers.size(), 1u);
  EXPECT_EQ(optimizers.schedule(0).schedule, nullptr);
  EXPECT_EQ(optimizers.base_learning_rates(0), std::vector<double>{0.5});
  EXPECT_TRUE(Optimizers().empty());
}

TEST(OptimizersTest, EachOptimizerHasItsSchedule) {
  Optimizers optimizers(sgd(0.5), std::make_shared<HalfLr>());
  optimizers.add(sgd(0.25)).add(
      sgd(0.125), {.schedule = std::make_shared<HalfLr>(), .interval = ScheduleInterval::kEpoch, .frequency = 3});
  ASSERT_EQ(optimizers.size(), 3u);
  EXPECT_EQ(optimizers.schedule(0).schedule->learning_rate(0.5, 0), 0.25);
  EXPECT_EQ(optimizers.schedule(0).interval, ScheduleInterval::kStep);
  EXPECT_EQ(optimizers.schedule(1).schedule, nullptr);
  EXPECT_EQ(optimizers.schedule(2).interval, ScheduleInterval::kEpoch);
  EXPECT_EQ(optimizers.schedule(2).frequency, 3);
  EXPECT_EQ(optimizers[2].param_groups()[0].options().get_lr(), 0.125);
}

TEST(OptimizersTest, OptionsWithoutLearningRateHaveNoBase) {
  const Optimizers optimizers = std::make_unique<PlainOptimizer>();
  EXPECT_TRUE(optimizers.base_learning_rates(0).empty());
}

TEST(OptimizersTest, AScheduleThatObservesNeedsAMonitor) {
  EXPECT_EQ(error_text<ConfigError>([] { Optimizers(sgd(1), std::make_shared<NeedsMetric>()); }),
            "[schedule] monitor must name the metric that the schedule observes, got none.");
  EXPECT_EQ(Optimizers(sgd(1), {.schedule = std::make_shared<NeedsMetric>(), .monitor = "val_loss"}).size(), 1u);
}

TEST(OptimizersTest, NoOptimizerAndNoFrequencyAreErrors) {
  EXPECT_EQ(error_text<ConfigError>([] { Optimizers().add(nullptr); }),
            "[Optimizers] an optimizer must be given, got nullptr.");
  EXPECT_EQ(error_text<ConfigError>([] { Optimizers().add(sgd(1), {.frequency = 0}); }),
            "[schedule] frequency must be >= 1, got 0.");
}

TEST(OptimizerFactoryTest, TakesFunctionsOfTensorsAndOfNamedParameters) {
  const OptimizerFactory of_tensors = [](std::vector<at::Tensor> tensors) -> Optimizers {
    return std::make_unique<torch::optim::SGD>(tensors, 0.5);
  };
  std::string seen;
  const OptimizerFactory of_names = [&seen](const NamedParameters& parameters) -> Optimizers {
    for (const auto& [name, tensor] : parameters) seen += name + ";";
    return sgd(0.25);
  };
  const NamedParameters parameters = {{"weight", at::ones({2})}, {"bias", at::ones({3})}};
  const Optimizers made = of_tensors(parameters);
  EXPECT_TRUE(made[0].param_groups()[0].params()[1].is_same(parameters[1].second));
  EXPECT_EQ(of_names(parameters).base_learning_rates(0)[0], 0.25);
  EXPECT_EQ(seen, "weight;bias;");
  EXPECT_EQ(of_tensors(one_parameter()).size(), 1u);
  EXPECT_FALSE(OptimizerFactory(nullptr));
  EXPECT_TRUE(of_tensors);
}

}  // namespace
}  // namespace levin
