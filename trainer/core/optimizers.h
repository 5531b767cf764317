#pragma once

#include <torch/optim/optimizer.h>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/core/schedule.h"

namespace levin {

using Optimizer = torch::optim::Optimizer;

/// Parameters [any shape] with their full names, as "encoder.weight", in the order of Module::named_parameters().
using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

/// What configure_optimizers returns: optimizers, each with its schedule or without one.
///
///   return std::make_unique<AdamW>(parameters(), AdamWOptions{.lr = 1e-3});
///   return {std::make_unique<SGD>(parameters()), std::make_shared<StepLR>(StepLR::Options{.step_size = 30})};
class Optimizers {
 public:
  Optimizers() = default;
  template <std::derived_from<Optimizer> O>
  Optimizers(std::unique_ptr<O> optimizer,
             ScheduleConfig schedule = {}) {  // implicit on purpose: one optimizer is common
    add(std::move(optimizer), std::move(schedule));
  }
  template <std::derived_from<Optimizer> O, std::derived_from<Schedule> S>
  Optimizers(std::unique_ptr<O> optimizer, std::shared_ptr<S> schedule) {
    add(std::move(optimizer), std::move(schedule));
  }

  /// Errors: ConfigError if there is no optimizer, or as check_schedule() says.
  Optimizers& add(std::unique_ptr<Optimizer> optimizer, ScheduleConfig schedule = {});
  template <std::derived_from<Schedule> S>
  Optimizers& add(std::unique_ptr<Optimizer> optimizer, std::shared_ptr<S> schedule) {
    return add(std::move(optimizer), ScheduleConfig{.schedule = std::move(schedule)});
  }

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  Optimizer& operator[](size_t index) const { return *entries_[index].optimizer; }
  ScheduleConfig& schedule(size_t index) { return entries_[index].schedule; }
  const ScheduleConfig& schedule(size_t index) const { return entries_[index].schedule; }

  /// The learning rate of each parameter group at the time of add(): what the schedule starts from. Empty if the
  /// optimizer's options have no learning rate.
  std::vector<double>& base_learning_rates(size_t index) { return entries_[index].base_learning_rates; }
  const std::vector<double>& base_learning_rates(size_t index) const { return entries_[index].base_learning_rates; }

 private:
  struct Entry {
    std::unique_ptr<Optimizer> optimizer;
    ScheduleConfig schedule;
    std::vector<double> base_learning_rates;
  };

  std::vector<Entry> entries_;
};

/// The learning rate of each parameter group; empty if the optimizer's options have none.
std::vector<double> learning_rates(const Optimizer& optimizer);

/// Makes the optimizer for a module's parameters. Used where YAML or the Trainer's parts name the optimizer instead of
/// the module. Any function of NamedParameters, or of the tensors alone, that returns Optimizers converts to it.
class OptimizerFactory {
 public:
  OptimizerFactory() = default;
  OptimizerFactory(std::nullptr_t) {}
  template <class Make>
  requires(!std::same_as<std::remove_cvref_t<Make>, OptimizerFactory> &&
           (std::is_invocable_r_v<Optimizers, Make&, NamedParameters> ||
            std::is_invocable_r_v<Optimizers, Make&, std::vector<at::Tensor>>))
      OptimizerFactory(Make make) {  // implicit on purpose: a function is a factory
    if constexpr (std::is_invocable_r_v<Optimizers, Make&, NamedParameters>) {
      make_ = std::move(make);
    } else {
      make_ = [make = std::move(make)](const NamedParameters& parameters) -> Optimizers {
        return make(tensors_of(parameters));
      };
    }
  }

  explicit operator bool() const { return make_ != nullptr; }
  Optimizers operator()(const NamedParameters& parameters) const { return make_(parameters); }
  /// Parameters without names: an option that goes by names then matches none.
  Optimizers operator()(const std::vector<at::Tensor>& parameters) const;

 private:
  static std::vector<at::Tensor> tensors_of(const NamedParameters& parameters);

  std::function<Optimizers(const NamedParameters&)> make_ = nullptr;
};

}  // namespace levin
