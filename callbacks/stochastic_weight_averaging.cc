#include "callbacks/stochastic_weight_averaging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "callbacks/check_options.h"
#include "callbacks/parameter_groups.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr const char* kName = "StochasticWeightAveraging";

}  // namespace

void StochasticWeightAveraging::Options::visit(OptionVisitor& visitor) {
  visitor.field("swa_lr", swa_lr, "learning rate after the annealing; null: that of the start", above(0));
  visitor.field("start", start, "epochs before the averaging: below 1 a fraction of max_epochs, else their number",
                at_least(0));
  visitor.field("annealing_epochs", annealing_epochs, "epochs until the learning rate is swa_lr; 0: at once",
                at_least(0));
  visitor.field("annealing_strategy", annealing_strategy, "how the learning rate goes to swa_lr",
                one_of({"cos", "linear"}));
  visitor.field("average_buffers", average_buffers, "average floating buffers, such as BatchNorm's, as well");
}

StochasticWeightAveraging::StochasticWeightAveraging(const Options& options)
    : WeightAveraging(options.average_buffers), options_(options) {
  check_options(kName, options_);
  if (options_.start >= 1.0 && options_.start != std::floor(options_.start)) {
    throw_if_any(kName, {fmt::format("start must be below 1 or a whole number, got {}", options_.start)});
  }
}

void StochasticWeightAveraging::on_train_start(const RunContext& run) {
  if (options_.start >= 1.0) {
    start_epoch_ = static_cast<int64_t>(options_.start);
  } else if (run.max_epochs) {
    // 0.29 * 100 is 28.999...; it means 29.
    start_epoch_ = static_cast<int64_t>(std::floor(options_.start * static_cast<double>(*run.max_epochs) + 1e-9));
  } else {
    throw ConfigError(fmt::format(
        "[{}] start is the fraction {} of max_epochs, which is not set. Set max_epochs, or give a number of "
        "epochs.",
        kName, options_.start));
  }
  if (run.max_epochs && start_epoch_ >= *run.max_epochs) {
    throw ConfigError(fmt::format("[{}] start must be before the last of the {} epochs, got {} epochs before it.",
                                  kName, *run.max_epochs, start_epoch_));
  }
}

void StochasticWeightAveraging::on_train_epoch_start(const RunContext& run) {
  if (run.state.epoch < start_epoch_ || run.optimizers == nullptr) return;
  const std::vector<ParameterGroup> groups = parameter_groups(*run.optimizers, kName);
  if (initial_learning_rates_.empty()) {
    for (const ParameterGroup& group : groups) initial_learning_rates_.push_back(group.options->get_lr());
  }
  // A group that has come since, for example of a backbone, is annealed from what it has now.
  for (size_t i = initial_learning_rates_.size(); i < groups.size(); ++i) {
    initial_learning_rates_.push_back(groups[i].options->get_lr());
  }
  set_learning_rates(run);
}

// A schedule may have set the learning rate since the last step: after it, or in training_step itself.
void StochasticWeightAveraging::on_train_batch_start(const RunContext& run, const Batch& /*batch*/) {
  set_learning_rates(run);
}

void StochasticWeightAveraging::on_before_optimizer_step(const RunContext& run) { set_learning_rates(run); }

void StochasticWeightAveraging::on_train_epoch_end(const RunContext& run) {
  if (run.state.epoch < start_epoch_) return;
  if (!has_average()) return begin_average();
  update_average(1.0 / static_cast<double>(num_updates() + 2));  // the first is in begin_average()
}

void StochasticWeightAveraging::teardown(const RunContext& run) {
  WeightAveraging::teardown(run);
  initial_learning_rates_.clear();
}

double StochasticWeightAveraging::annealed(double initial, int64_t epoch) const {
  const double target = options_.swa_lr.value_or(initial);
  const auto done = static_cast<double>(epoch - start_epoch_);
  const double t =
      options_.annealing_epochs == 0 ? 1.0 : std::min(1.0, done / static_cast<double>(options_.annealing_epochs));
  const double share = options_.annealing_strategy == "cos" ? 0.5 * (1.0 + std::cos(std::numbers::pi * t)) : 1.0 - t;
  return target + (initial - target) * share;
}

void StochasticWeightAveraging::set_learning_rates(const RunContext& run) const {
  if (initial_learning_rates_.empty() || run.optimizers == nullptr || run.state.epoch < start_epoch_) return;
  size_t i = 0;
  for (const ParameterGroup& group : parameter_groups(*run.optimizers, kName)) {
    if (i == initial_learning_rates_.size()) return;  // added within the epoch: from the next one on
    group.options->set_lr(annealed(initial_learning_rates_[i++], run.state.epoch));
  }
}

StateDict StochasticWeightAveraging::state() const {
  StateDict state = WeightAveraging::state();
  for (size_t i = 0; i < initial_learning_rates_.size(); ++i) {
    state.set(fmt::format("initial_lr.{}", i), initial_learning_rates_[i]);
  }
  return state;
}

void StochasticWeightAveraging::load_state(const StateDict& state) {
  WeightAveraging::load_state(state);
  initial_learning_rates_.clear();
  for (size_t i = 0; state.contains(fmt::format("initial_lr.{}", i)); ++i) {
    initial_learning_rates_.push_back(state.real(fmt::format("initial_lr.{}", i)));
  }
}

}  // namespace levin
