// Every schedule that PyTorch has too, against PyTorch's own numbers (tests/parity/schedules).

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "trainer/optim/schedules/constant_lr.h"
#include "trainer/optim/schedules/cosine_annealing_lr.h"
#include "trainer/optim/schedules/cosine_annealing_warm_restarts.h"
#include "trainer/optim/schedules/exponential_lr.h"
#include "trainer/optim/schedules/linear_lr.h"
#include "trainer/optim/schedules/multi_step_lr.h"
#include "trainer/optim/schedules/one_cycle_lr.h"
#include "trainer/optim/schedules/polynomial_lr.h"
#include "trainer/optim/schedules/reduce_lr_on_plateau.h"
#include "trainer/optim/schedules/schedule_chain.h"
#include "trainer/optim/schedules/step_lr.h"

namespace levin {
namespace {

// PyTorch multiplies its way from step to step, so that rounding adds up: 30 steps of a few times 2e-16.
constexpr double kTolerance = 1e-12;

struct Row {
  int64_t step = 0;
  double lr = 0.0;
  double momentum = 0.0;
};

std::map<std::string, std::vector<Row>> read_golden() {
  std::ifstream file("tests/parity/schedules/golden.csv");
  std::map<std::string, std::vector<Row>> result;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string name, step, lr, momentum;
    std::getline(fields, name, ',');
    std::getline(fields, step, ',');
    std::getline(fields, lr, ',');
    std::getline(fields, momentum, ',');
    result[name].push_back(
        {std::stoll(step), std::strtod(lr.c_str(), nullptr), std::strtod(momentum.c_str(), nullptr)});
  }
  return result;
}

// One argument, so that each case names its options.
template <class S>
std::shared_ptr<Schedule> make(const typename S::Options& options) {
  return std::make_shared<S>(options);
}

using Schedules = std::map<std::string, std::shared_ptr<Schedule>>;

Schedules pure_schedules() {
  using List = std::vector<std::shared_ptr<Schedule>>;
  return {
      {"ConstantLR", make<ConstantLR>({.factor = 0.25, .total_iters = 4})},
      {"LinearLR", make<LinearLR>({.start_factor = 0.1, .end_factor = 0.9, .total_iters = 7})},
      {"PolynomialLR", make<PolynomialLR>({.total_iters = 10, .power = 2.5})},
      {"StepLR", make<StepLR>({.step_size = 4, .gamma = 0.3})},
      {"MultiStepLR", make<MultiStepLR>({.milestones = {3, 8, 8, 20}, .gamma = 0.5})},
      {"ExponentialLR", make<ExponentialLR>({.gamma = 0.9})},
      {"CosineAnnealingLR", make<CosineAnnealingLR>({.T_max = 10, .eta_min = 0.05})},
      {"CosineAnnealingWarmRestarts", make<CosineAnnealingWarmRestarts>({.T_0 = 3, .T_mult = 2, .eta_min = 0.01})},
      {"CosineAnnealingWarmRestarts.even", make<CosineAnnealingWarmRestarts>({.T_0 = 4})},
      {"OneCycleLR", make<OneCycleLR>({.total_steps = 30})},
      {"OneCycleLR.linear", make<OneCycleLR>({.max_lr = 2.0,
                                              .total_steps = 31,
                                              .pct_start = 0.25,
                                              .anneal_strategy = "linear",
                                              .base_momentum = 0.8,
                                              .max_momentum = 0.9,
                                              .div_factor = 10.0,
                                              .final_div_factor = 100.0})},
      {"OneCycleLR.three_phase", make<OneCycleLR>({.total_steps = 30, .three_phase = true})},
      {"SequentialLR",
       std::make_shared<SequentialLR>(List{make<LinearLR>({.start_factor = 0.1, .total_iters = 5}),
                                           make<ExponentialLR>({.gamma = 0.8}), make<StepLR>({.step_size = 3})},
                                      std::vector<int64_t>{5, 15})},
      {"ChainedScheduler", std::make_shared<ChainedScheduler>(List{make<ConstantLR>({.factor = 0.1, .total_iters = 6}),
                                                                   make<ExponentialLR>({.gamma = 0.9})})},
  };
}

Schedules plateau_schedules() {
  return {
      {"ReduceLROnPlateau", make<ReduceLROnPlateau>({.patience = 2})},
      {"ReduceLROnPlateau.abs",
       make<ReduceLROnPlateau>(
           {.factor = 0.5, .patience = 1, .threshold = 0.15, .threshold_mode = "abs", .cooldown = 2})},
      {"ReduceLROnPlateau.max", make<ReduceLROnPlateau>({.mode = "max", .factor = 0.5, .patience = 0, .min_lr = 0.1})},
      {"ReduceLROnPlateau.max_abs",
       make<ReduceLROnPlateau>(
           {.mode = "max", .factor = 0.1, .patience = 1, .threshold = 0.01, .threshold_mode = "abs", .eps = 0.05})},
  };
}

TEST(ScheduleParityTest, EveryGoldenCaseIsTested) {
  std::vector<std::string> cases, tested;
  for (const auto& [name, rows] : read_golden()) cases.push_back(name);
  Schedules schedules = pure_schedules();
  schedules.merge(plateau_schedules());
  for (const auto& [name, schedule] : schedules) tested.push_back(name);
  EXPECT_EQ(cases, tested);
}

TEST(ScheduleParityTest, PureSchedulesEqualPyTorchAtEachStep) {
  const auto golden = read_golden();
  for (const auto& [name, schedule] : pure_schedules()) {
    ASSERT_EQ(golden.at(name).size(), 30u) << name;
    for (const Row& row : golden.at(name)) {
      EXPECT_NEAR(schedule->learning_rate(1.0, row.step), row.lr, kTolerance) << name << " step " << row.step;
      EXPECT_NEAR(schedule->momentum(row.step).value_or(0.5), row.momentum, kTolerance) << name << " step " << row.step;
    }
  }
}

TEST(ScheduleParityTest, PlateauEqualsPyTorchAndGoesOnFromItsState) {
  // As in golden.py.
  const std::vector<double> metrics = {1.0, 0.9, 0.9, 0.9, 0.95, 0.9,  0.89991, 0.8,
                                       0.8, 0.8, 0.8, 0.8, 0.7,  0.71, 0.72,    0.73};
  const auto golden = read_golden();
  const Schedules fresh = plateau_schedules();
  for (auto [name, schedule] : plateau_schedules()) {
    ASSERT_EQ(golden.at(name).size(), metrics.size()) << name;
    for (const Row& row : golden.at(name)) {
      EXPECT_NEAR(schedule->learning_rate(1.0, row.step), row.lr, kTolerance) << name << " step " << row.step;
      if (row.step == 5) {  // as if resumed
        fresh.at(name)->load_state(schedule->state());
        schedule = fresh.at(name);
      }
      schedule->observe(metrics[static_cast<size_t>(row.step)]);
    }
  }
}

}  // namespace
}  // namespace levin
