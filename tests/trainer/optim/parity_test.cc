// Every optimizer against PyTorch's own numbers (tests/parity/optimizers).

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/trainer/optim/problem.h"
#include "trainer/optim/adafactor.h"
#include "trainer/optim/adagrad.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/lbfgs.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/rmsprop.h"
#include "trainer/optim/sgd.h"

namespace levin {
namespace {

// float64, ten steps, values up to 30; the fused kernels order the arithmetic otherwise than PyTorch's loop.
constexpr double kTolerance = 1e-11;
// Muon rounds to bfloat16 (8 bits) in its iteration; a last-bit difference there is worth lr * 2^-8 = 2e-4 a step.
// The same kernels give the same bits, so that this bounds what another processor may differ by.
constexpr double kMuonTolerance = 2e-3;

std::map<std::string, std::vector<double>> read_golden() {
  std::ifstream file("tests/parity/optimizers/golden.csv");
  std::map<std::string, std::vector<double>> result;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string name;
    std::getline(fields, name, ',');
    for (std::string field; std::getline(fields, field, ',');) {
      result[name].push_back(std::strtod(field.c_str(), nullptr));
    }
  }
  return result;
}

using Make = std::function<std::unique_ptr<Optimizer>(const NamedParameters&)>;

template <class O>
Make make(typename O::Options options) {
  return [options](const NamedParameters& parameters) {
    if constexpr (std::is_same_v<O, Muon>) {
      return std::make_unique<O>(parameters, options);
    } else {
      return std::make_unique<O>(tensors_of(parameters), options);
    }
  };
}

Make lbfgs(const LbfgsOptions& options) {
  return [options](const NamedParameters& parameters) { return make_lbfgs(tensors_of(parameters), options); };
}

std::map<std::string, Make> cases() {
  return {
      {"SGD", make<SGD>({.lr = 0.1})},
      {"SGD.weight_decay", make<SGD>({.lr = 0.1, .weight_decay = 0.2})},
      {"SGD.momentum", make<SGD>({.lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.1})},
      {"SGD.nesterov", make<SGD>({.lr = 0.1, .momentum = 0.9, .nesterov = true})},
      {"SGD.maximize",
       make<SGD>({.lr = 0.1, .momentum = 0.8, .dampening = 0.5, .weight_decay = 0.1, .maximize = true})},
      {"Adam", make<Adam>({.lr = 0.05})},
      {"Adam.weight_decay", make<Adam>({.lr = 0.05, .betas = {0.8, 0.95}, .eps = 1e-4, .weight_decay = 0.3})},
      {"Adam.amsgrad", make<Adam>({.lr = 0.05, .amsgrad = true})},
      {"Adam.maximize", make<Adam>({.lr = 0.05, .weight_decay = 0.1, .maximize = true})},
      {"AdamW", make<AdamW>({.lr = 0.05})},
      {"AdamW.weight_decay", make<AdamW>({.lr = 0.05, .betas = {0.8, 0.95}, .eps = 1e-4, .weight_decay = 0.3})},
      {"AdamW.amsgrad", make<AdamW>({.lr = 0.05, .amsgrad = true})},
      {"RMSprop", make<RMSprop>({.lr = 0.02})},
      {"RMSprop.momentum",
       make<RMSprop>({.lr = 0.02, .alpha = 0.9, .eps = 1e-4, .weight_decay = 0.1, .momentum = 0.7})},
      {"RMSprop.centered", make<RMSprop>({.lr = 0.02, .weight_decay = 0.1, .centered = true, .maximize = true})},
      {"Adagrad", make<Adagrad>({.lr = 0.1})},
      {"Adagrad.decay",
       make<Adagrad>({.lr = 0.1, .lr_decay = 0.1, .weight_decay = 0.2, .initial_accumulator_value = 0.5, .eps = 1e-4})},
      {"Adagrad.maximize", make<Adagrad>({.lr = 0.1, .maximize = true})},
      {"Adafactor", make<Adafactor>({.lr = 0.05})},
      {"Adafactor.options", make<Adafactor>({.lr = 0.5,
                                             .beta2_decay = -0.5,
                                             .eps1 = 1e-3,
                                             .eps2 = 1e-2,
                                             .d = 1.5,
                                             .weight_decay = 0.1,
                                             .maximize = true})},
      {"Lion", make<Lion>({.lr = 0.03})},
      {"Lion.weight_decay", make<Lion>({.lr = 0.03, .betas = {0.8, 0.95}, .weight_decay = 0.3})},
      {"Muon", make<Muon>({.lr = 0.05, .adamw_lr = 0.02, .adamw_weight_decay = 0.2})},
      {"Muon.options", make<Muon>({.lr = 0.05,
                                   .weight_decay = 0.3,
                                   .momentum = 0.8,
                                   .nesterov = false,
                                   .ns_coefficients = {2.0, -1.5, 0.5},
                                   .ns_steps = 4,
                                   .adjust_lr = "match_rms_adamw",
                                   .adamw_lr = 0.02,
                                   .adamw_weight_decay = 0.2})},
      {"LBFGS", lbfgs({.lr = 0.3, .max_iter = 4, .history_size = 3})},
      {"LBFGS.strong_wolfe", lbfgs({.lr = 1.0, .max_iter = 3, .line_search_fn = "strong_wolfe"})},
  };
}

void run_steps(const std::string& name, Optimizer& optimizer, const NamedParameters& parameters) {
  if (name.starts_with("LBFGS")) {
    for (int step = 0; step < 2; ++step) optimizer.step([&] { return problem_loss(parameters); });
    return;
  }
  for (int64_t step = 0; step < 10; ++step) {
    set_problem_gradients(parameters, step);
    optimizer.step();
  }
}

TEST(OptimizerParityTest, EveryGoldenCaseIsTested) {
  std::vector<std::string> golden, tested;
  for (const auto& [name, values] : read_golden()) golden.push_back(name);
  for (const auto& [name, made] : cases()) tested.push_back(name);
  EXPECT_EQ(golden, tested);
}

TEST(OptimizerParityTest, ParametersEqualPyTorchsAfterTheSteps) {
  const auto golden = read_golden();
  for (const auto& [name, make_optimizer] : cases()) {
    const NamedParameters parameters = problem_parameters();
    const auto optimizer = make_optimizer(parameters);
    run_steps(name, *optimizer, parameters);
    std::vector<double> values;
    for (const auto& [parameter, tensor] : parameters) {
      const double* data = tensor.const_data_ptr<double>();
      values.insert(values.end(), data, data + tensor.numel());
    }
    const std::vector<double>& expected = golden.at(name);
    ASSERT_EQ(values.size(), expected.size()) << name;
    const double tolerance = name.starts_with("Muon") ? kMuonTolerance : kTolerance;
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << name << " value " << i;
  }
}

}  // namespace
}  // namespace levin
