#include "trainer/optim/optimizer_state.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/optim/problem.h"
#include "trainer/core/error.h"
#include "trainer/optim/adafactor.h"
#include "trainer/optim/adagrad.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/lbfgs.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/make_optimizer.h"
#include "trainer/optim/rmsprop.h"
#include "trainer/optim/sgd.h"

namespace levin {
namespace {

using Make = std::function<std::unique_ptr<Optimizer>(const NamedParameters&)>;

template <class O>
Make ours(const typename O::Options& options) {
  return [options](const NamedParameters& parameters) {
    return make_optimizer<O>(parameters, options, {"*.bias"});  // two groups at least
  };
}

template <class O, class Options>
Make libtorchs(const Options& options) {
  return [options](const NamedParameters& parameters) { return std::make_unique<O>(tensors_of(parameters), options); };
}

// Of a type that Levin does not know, with save() and load() from its base.
struct DerivedAdam : torch::optim::Adam {
  using torch::optim::Adam::Adam;
};

std::vector<std::pair<std::string, Make>> cases() {
  namespace optim = torch::optim;
  return {
      {"SGD", ours<SGD>({.lr = 0.1, .momentum = 0.9, .dampening = 0.3})},
      {"Adam", ours<Adam>({.lr = 0.05, .amsgrad = true})},
      {"AdamW", ours<AdamW>({.lr = 0.05})},
      {"RMSprop", ours<RMSprop>({.lr = 0.02, .momentum = 0.7, .centered = true})},
      {"Adagrad", ours<Adagrad>({.lr = 0.1, .lr_decay = 0.1})},
      {"Lion", ours<Lion>({.lr = 0.03})},
      {"Adafactor", ours<Adafactor>({.lr = 0.05})},
      {"Muon", ours<Muon>({.lr = 0.05, .adamw_parameters = {"*.bias"}})},
      {"torch::optim::SGD", libtorchs<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9))},
      {"torch::optim::Adam", libtorchs<optim::Adam>(optim::AdamOptions(0.05).amsgrad(true))},
      {"torch::optim::AdamW", libtorchs<optim::AdamW>(optim::AdamWOptions(0.05))},
      {"torch::optim::RMSprop", libtorchs<optim::RMSprop>(optim::RMSpropOptions(0.02).momentum(0.7).centered(true))},
      {"torch::optim::Adagrad", libtorchs<optim::Adagrad>(optim::AdagradOptions(0.1).lr_decay(0.1))},
      {"torch::optim::LBFGS", libtorchs<optim::LBFGS>(optim::LBFGSOptions(0.3).max_iter(2).history_size(3))},
      {"archive", libtorchs<DerivedAdam>(optim::AdamOptions(0.05))},
  };
}

void run_steps(Optimizer& optimizer, const NamedParameters& parameters, int64_t begin, int64_t end) {
  for (int64_t step = begin; step < end; ++step) {
    set_problem_gradients(parameters, step);
    optimizer.step([&] { return problem_loss(parameters); });
  }
}

NamedParameters copies_of(const NamedParameters& parameters) {
  NamedParameters result;
  for (const auto& [name, tensor] : parameters) result.emplace_back(name, tensor.detach().clone().requires_grad_());
  return result;
}

// As a checkpoint does: without any memory in common.
StateDict copy_of(const StateDict& state) {
  StateDict result;
  for (const auto& [name, value] : state) {
    const at::Tensor* tensor = std::get_if<at::Tensor>(&value);
    result.set(name, tensor != nullptr ? StateDict::Value(tensor->clone()) : value);
  }
  return result;
}

TEST(OptimizerStateTest, FiveStepsSaveLoadAndFiveStepsAreTenSteps) {
  for (const auto& [name, make] : cases()) {
    const NamedParameters whole = problem_parameters();
    const auto uninterrupted = make(whole);
    run_steps(*uninterrupted, whole, 0, 10);

    const NamedParameters first = problem_parameters();
    const auto before = make(first);
    run_steps(*before, first, 0, 5);
    const StateDict state = copy_of(optimizer_state(*before, first));
    EXPECT_EQ(state.text("class"), name);

    const NamedParameters second = copies_of(first);
    const auto after = make(second);
    load_optimizer_state(*after, second, state);
    run_steps(*after, second, 5, 10);
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_TRUE(at::equal(whole[i].second, second[i].second)) << name << " " << whole[i].first;
      EXPECT_FALSE(at::equal(whole[i].second, first[i].second)) << name << " " << whole[i].first;
    }
  }
}

TEST(OptimizerStateTest, EntriesGoByTheNamesOfTheParameters) {
  const NamedParameters parameters = problem_parameters();
  const auto optimizer = ours<AdamW>({.lr = 0.5, .betas = {0.5, 0.75}})(parameters);
  set_problem_gradients(parameters, 0);
  parameters[1].second.mutable_grad().reset();  // never stepped
  optimizer->step();
  const StateDict state = optimizer_state(*optimizer, parameters, {0.5, 0.25});
  EXPECT_EQ(state.tensor("hidden.weight.step").item<float>(), 1.0f);
  EXPECT_EQ(state.tensor("hidden.bias.exp_avg").sizes(), at::IntArrayRef({5}));
  EXPECT_FALSE(state.contains("tall.weight.step"));
  EXPECT_FALSE(state.contains("hidden.weight.max_exp_avg_sq"));
  EXPECT_EQ(state.real("group.0.lr"), 0.5);
  EXPECT_EQ(state.real("group.0.betas.1"), 0.75);
  EXPECT_EQ(state.integer("group.0.amsgrad"), 0);
  EXPECT_EQ(state.text("group.0.parameters"), "hidden.weight,tall.weight");
  EXPECT_EQ(state.real("group.1.initial_lr"), 0.25);
}

TEST(OptimizerStateTest, OptionsAndBaseRatesComeFromTheState) {
  const NamedParameters parameters = problem_parameters();
  const auto saved = ours<AdamW>({.lr = 0.5, .eps = 1e-4})(parameters);
  const auto loaded = ours<AdamW>({.lr = 0.125})(parameters);
  std::vector<double> base_learning_rates = {1.0, 2.0};
  load_optimizer_state(*loaded, parameters, optimizer_state(*saved, parameters), &base_learning_rates);
  EXPECT_EQ(base_learning_rates, (std::vector<double>{1.0, 2.0}));  // none was saved
  load_optimizer_state(*loaded, parameters, optimizer_state(*saved, parameters, {0.75, 0.25}), &base_learning_rates);
  EXPECT_EQ(base_learning_rates, (std::vector<double>{0.75, 0.25}));
  EXPECT_EQ(learning_rates(*loaded), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(static_cast<GroupOptions<AdamWOptions>&>(loaded->param_groups()[0].options()).fields.eps, 1e-4);
}

TEST(OptimizerStateTest, EverythingThatDoesNotFitIsListedAndNothingChanges) {
  const NamedParameters parameters = problem_parameters();
  const auto optimizer = ours<AdamW>({.lr = 0.5})(parameters);
  run_steps(*optimizer, parameters, 0, 1);
  StateDict broken;
  for (const auto& [name, value] : optimizer_state(*optimizer, parameters)) {
    if (name == "hidden.weight.exp_avg" || name == "group.0.eps") continue;
    if (name == "tall.weight.exp_avg_sq") {
      broken.set(name, at::ones({2, 6}));
    } else if (name == "hidden.bias.step") {
      broken.set(name, int64_t{1});
    } else if (name == "group.0.lr") {
      broken.set(name, 0.25);
    } else if (name == "group.1.parameters") {
      broken.set(name, "tall.bias");
    } else {
      broken.set(name, value);
    }
  }
  broken.set("tall.bias.step", at::ones({}));
  const StateDict before = copy_of(optimizer_state(*optimizer, parameters));
  EXPECT_EQ(error_text<CheckpointError>([&] { load_optimizer_state(*optimizer, parameters, broken); }),
            "[optimizer state] the saved state must fit the optimizer, got missing: group.0.eps, "
            "hidden.weight.exp_avg; unexpected: tall.bias.step; wrong: tall.weight.exp_avg_sq must be float64 [6, 2], "
            "got float32 [2, 6], group.1.parameters must be hidden.bias, got tall.bias, hidden.bias.step must be a "
            "tensor.");
  const StateDict after = optimizer_state(*optimizer, parameters);
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(after.real("group.0.lr"), 0.5);
  EXPECT_TRUE(at::equal(after.tensor("hidden.weight.exp_avg"), before.tensor("hidden.weight.exp_avg")));
}

TEST(OptimizerStateTest, AnotherClassAndUnknownParametersAreNamed) {
  const NamedParameters parameters = problem_parameters();
  const auto adamw = ours<AdamW>({})(parameters);
  const auto sgd = ours<SGD>({})(parameters);
  EXPECT_EQ(
      error_text<CheckpointError>([&] { load_optimizer_state(*sgd, parameters, optimizer_state(*adamw, parameters)); }),
      "[optimizer state] the saved state must be of SGD, got one of AdamW. Train on with the optimizer that was "
      "saved.");
  EXPECT_EQ(error_text<CheckpointError>([&] { optimizer_state(*sgd, {}); }),
            "[optimizer state] each parameter of the optimizer must be one of the module, got float64 [3, 4] that is "
            "not. Register it.");
}

TEST(OptimizerStateTest, ADamagedArchiveChangesNothing) {
  const NamedParameters parameters = problem_parameters();
  const auto optimizer = libtorchs<DerivedAdam>(torch::optim::AdamOptions(0.05))(parameters);
  run_steps(*optimizer, parameters, 0, 2);
  StateDict broken;
  broken.set("class", "archive");
  broken.set("archive", at::ones({100}, at::kByte));
  const std::string text = error_text<CheckpointError>([&] { load_optimizer_state(*optimizer, parameters, broken); });
  EXPECT_TRUE(text.starts_with("[optimizer state] the saved archive must fit the optimizer, got: ")) << text;
  EXPECT_EQ(optimizer->state().size(), 3u);
  EXPECT_EQ(learning_rates(*optimizer)[0], 0.05);
}

}  // namespace
}  // namespace levin
