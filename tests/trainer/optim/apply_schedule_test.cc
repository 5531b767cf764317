#include "trainer/optim/apply_schedule.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"
#include "trainer/optim/adagrad.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/schedules/one_cycle_lr.h"
#include "trainer/optim/schedules/warmup_cosine_lr.h"
#include "trainer/optim/sgd.h"

namespace levin {
namespace {

using torch::optim::OptimizerParamGroup;

at::Tensor parameter() { return at::ones({2}).requires_grad_(); }

// A11: linear warm-up of 2, cosine to step 10, two groups.
TEST(ApplyScheduleTest, EveryGroupFollowsFromItsOwnRate) {
  std::vector<OptimizerParamGroup> groups = {OptimizerParamGroup({parameter()})};
  groups.emplace_back(std::vector<at::Tensor>{parameter()},
                      std::make_unique<GroupOptions<SgdOptions>>(SgdOptions{.lr = 0.1}));
  const Optimizers optimizers = std::make_unique<SGD>(groups, SgdOptions{.lr = 1.0});
  const WarmupCosineLR schedule({.warmup_steps = 2, .total_steps = 10});
  const std::vector<double> expected = {0.5, 1.0, 1.0};
  for (int64_t step = 0; step < 10; ++step) {
    apply_schedule(optimizers[0], schedule, optimizers.base_learning_rates(0), step);
    const std::vector<double> rates = learning_rates(optimizers[0]);
    ASSERT_EQ(rates.size(), 2u);
    if (step < 3) {
      EXPECT_NEAR(rates[0], expected[static_cast<size_t>(step)], 1e-12);
    } else if (step == 6) {
      EXPECT_NEAR(rates[0], 0.5, 1e-12);
    }
    EXPECT_NEAR(rates[0], 10 * rates[1], 1e-12);
  }
}

double sgd_momentum(const Optimizer& optimizer) {
  return static_cast<const torch::optim::SGDOptions&>(optimizer.param_groups()[0].options()).momentum();
}

TEST(ApplyScheduleTest, MomentumAndBeta1AreCycled) {
  const OneCycleLR schedule({.total_steps = 10});
  SGD sgd({parameter()}, {.momentum = 0.5});
  AdamW adamw({parameter()});
  torch::optim::SGD libtorch_sgd({parameter()}, 0.1);
  torch::optim::AdamW libtorch_adamw({parameter()}, 0.1);
  for (Optimizer* optimizer : std::vector<Optimizer*>{&sgd, &adamw, &libtorch_sgd, &libtorch_adamw}) {
    apply_schedule(*optimizer, schedule, {0.1}, 2);  // the top of the cycle
    EXPECT_NEAR(learning_rates(*optimizer)[0], 0.1, 1e-12);
  }
  EXPECT_NEAR(static_cast<GroupOptions<SgdOptions>&>(sgd.param_groups()[0].options()).fields.momentum, 0.85, 1e-12);
  EXPECT_NEAR(static_cast<GroupOptions<AdamWOptions>&>(adamw.param_groups()[0].options()).fields.betas[0], 0.85, 1e-12);
  EXPECT_NEAR(sgd_momentum(libtorch_sgd), 0.85, 1e-12);
  const auto& options = static_cast<torch::optim::AdamWOptions&>(libtorch_adamw.param_groups()[0].options());
  EXPECT_NEAR(std::get<0>(options.betas()), 0.85, 1e-12);
  EXPECT_EQ(std::get<1>(options.betas()), 0.999);
}

TEST(ApplyScheduleTest, AMomentumThatRisesFromZeroGetsItsBuffer) {
  const at::Tensor tensor = parameter();
  SGD sgd({tensor}, {.lr = 0.1});
  tensor.mutable_grad() = at::ones({2});
  sgd.step();
  apply_schedule(sgd, OneCycleLR({.total_steps = 10}), {0.1}, 2);
  sgd.step();
  sgd.step();
  EXPECT_NEAR(tensor[0].item<double>(), 1 - 0.1 * (1 + 1 + 1.85), 1e-6);
}

TEST(ApplyScheduleTest, AnOptimizerWithoutMomentumAndMissingRatesAreErrors) {
  Adagrad adagrad({parameter()});
  EXPECT_EQ(error_text<ConfigError>([&] { apply_schedule(adagrad, OneCycleLR({.total_steps = 10}), {0.1}, 0); }),
            "[schedule] the schedule cycles the momentum, and the optimizer has none. Set cycle_momentum to false.");
  EXPECT_EQ(error_text<ConfigError>([&] { apply_schedule(adagrad, WarmupCosineLR({.total_steps = 10}), {}, 0); }),
            "[schedule] each parameter group must have a base learning rate, got 0 rates for 1 groups. Options of your "
            "own need get_lr() and set_lr(); add every group before the optimizer is handed over.");
}

}  // namespace
}  // namespace levin
