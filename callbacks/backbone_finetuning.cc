#include "callbacks/backbone_finetuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/optim/lbfgs.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "callbacks/check_options.h"
#include "callbacks/freezing.h"
#include "callbacks/optimizer_values.h"
#include "trainer/core/error.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/named_parameters.h"

namespace levin {
namespace {

constexpr const char* kName = "BackboneFinetuning";
constexpr size_t kNamesShown = 8;  // in an error

using Group = torch::optim::OptimizerParamGroup;
using TensorSet = std::unordered_set<const c10::TensorImpl*>;

TensorSet set_of(const std::vector<at::Tensor>& tensors) {
  TensorSet set;
  for (const at::Tensor& tensor : tensors) set.insert(tensor.unsafeGetTensorImpl());
  return set;
}

std::string names_of(const torch::nn::Module& module, TensorSet tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : named_parameters(module)) {
    if (tensors.erase(tensor.unsafeGetTensorImpl()) > 0) names.push_back(name);
  }
  const size_t num_more = names.size() - std::min(names.size(), kNamesShown);
  names.resize(names.size() - num_more);
  return fmt::format("{}{}", fmt::join(names, ", "), num_more == 0 ? "" : fmt::format(" and {} more", num_more));
}

/// Calls fn(parameter) for every parameter of every optimizer.
template <class Fn>
void for_each_parameter(Optimizers& optimizers, const Fn& fn) {
  for (size_t i = 0; i < optimizers.size(); ++i) {
    for (const Group& group : optimizers[i].param_groups()) {
      for (const at::Tensor& parameter : group.params()) fn(parameter);
    }
  }
}

void check_optimizers_have(Optimizers& optimizers, const torch::nn::Module& module, TensorSet missing) {
  for_each_parameter(optimizers, [&](const at::Tensor& tensor) { missing.erase(tensor.unsafeGetTensorImpl()); });
  if (missing.empty()) return;
  throw ConfigError(
      fmt::format("[{}] each parameter of the backbone must be in an optimizer from the start, got none for {}. Hand "
                  "all parameters() over in configure_optimizers; this callback freezes them afterwards.",
                  kName, names_of(module, std::move(missing))));
}

void check_something_is_left(Optimizers& optimizers, const TensorSet& backbone) {
  bool is_left = false;
  for_each_parameter(optimizers, [&](const at::Tensor& tensor) {
    is_left = is_left || (tensor.requires_grad() && !backbone.contains(tensor.unsafeGetTensorImpl()));
  });
  if (is_left) return;
  throw ConfigError(
      fmt::format("[{}] something must be left to train while the backbone is frozen, got a backbone with all "
                  "parameters that require a gradient. Name a smaller part.",
                  kName));
}

}  // namespace

void BackboneFinetuning::Options::visit(OptionVisitor& visitor) {
  visitor.field("backbone", backbone, "names of the submodules to freeze (encoder.layers.0)");
  visitor.field("unfreeze_backbone_at_epoch", unfreeze_backbone_at_epoch, "first epoch that trains the backbone",
                at_least(0));
  visitor.field("multiplier", multiplier, "what its learning rate is multiplied by from epoch to epoch", above(0));
  visitor.field("backbone_initial_ratio_lr", backbone_initial_ratio_lr,
                "its learning rate at first, as a share of the main one", above(0));
  visitor.field("backbone_initial_lr", backbone_initial_lr, "its learning rate at first, instead of a share", above(0));
  visitor.field("should_align", should_align, "never above the main learning rate");
  visitor.field("train_bn", train_bn, "do not freeze modules with running statistics, such as BatchNorm");
}

BackboneFinetuning::BackboneFinetuning(const Options& options) : options_(options) {
  OptionChecker checker;
  options_.visit(checker);
  std::vector<std::string> problems = checker.problems();
  if (options_.backbone.empty()) problems.push_back("backbone must name a submodule, got []");
  throw_if_any(kName, problems);
}

double BackboneFinetuning::learning_rate(int64_t epoch, double main_lr) const {
  const int64_t num_epochs = epoch - options_.unfreeze_backbone_at_epoch;
  if (num_epochs < 0) return 0.0;
  const double growth = std::pow(options_.multiplier, static_cast<double>(num_epochs));
  if (options_.backbone_initial_lr) {
    const double rate = *options_.backbone_initial_lr * growth;
    return options_.should_align ? std::min(rate, main_lr) : rate;
  }
  const double share = options_.backbone_initial_ratio_lr * growth;
  return main_lr * (options_.should_align ? std::min(share, 1.0) : share);
}

void BackboneFinetuning::on_after_configure_optimizers(const RunContext& run) {
  find_parameters(run.module);
  const TensorSet backbone = set_of(parameters_);
  check_optimizers_have(*run.optimizers, run.module, backbone);
  if (options_.unfreeze_backbone_at_epoch > 0) check_something_is_left(*run.optimizers, backbone);
  splits_.clear();
  for (size_t i = 0; i < run.optimizers->size(); ++i) split_groups(*run.optimizers, i);
  freeze_backbone(run.module);
}

void BackboneFinetuning::find_parameters(LightningModule& module) {
  parameters_.clear();
  TensorSet seen;
  for (const std::string& name : options_.backbone) {
    for (const at::Tensor& tensor : freezable_parameters(find_submodule(module, name, kName), options_.train_bn)) {
      if (tensor.requires_grad() && seen.insert(tensor.unsafeGetTensorImpl()).second) parameters_.push_back(tensor);
    }
  }
  if (!parameters_.empty()) return;
  throw ConfigError(fmt::format(
      "[{}] the backbone must have parameters that require a gradient{}, got none in {}. Freeze nothing "
      "before the fit; this callback does.",
      kName, options_.train_bn ? " (outside of BatchNorm, with train_bn)" : "", fmt::join(options_.backbone, ", ")));
}

void BackboneFinetuning::split_groups(Optimizers& optimizers, size_t index) {
  const TensorSet backbone = set_of(parameters_);
  Optimizer& optimizer = optimizers[index];
  const size_t num_groups = optimizer.param_groups().size();
  for (size_t source = 0; source < num_groups; ++source) {
    std::vector<at::Tensor> moved;
    for (const at::Tensor& tensor : optimizer.param_groups()[source].params()) {
      if (backbone.contains(tensor.unsafeGetTensorImpl())) moved.push_back(tensor);
    }
    if (moved.empty()) continue;
    if (dynamic_cast<torch::optim::LBFGS*>(&optimizer) != nullptr) {
      throw ConfigError(
          fmt::format("[{}] LBFGS has one learning rate for all parameters. Take another optimizer.", kName));
    }
    const auto& options = optimizer.param_groups()[source].options();
    if (!learning_rate_of(options) || optimizers.base_learning_rates(index).size() <= source) {
      throw ConfigError(fmt::format("[{}] group {} of optimizer {} must have a learning rate, got options without one.",
                                    kName, source, index));
    }
    Group group(moved, options.clone());
    std::erase_if(optimizer.param_groups()[source].params(),
                  [&](const at::Tensor& tensor) { return backbone.contains(tensor.unsafeGetTensorImpl()); });
    // Not add_param_group(), which takes state from the start, as in LibTorch's Adagrad, for a sign of another group.
    optimizer.param_groups().push_back(std::move(group));
    std::vector<double>& base = optimizers.base_learning_rates(index);
    base.push_back(base[source]);
    splits_.push_back({index, source, optimizer.param_groups().size() - 1});
  }
}

void BackboneFinetuning::freeze_backbone(LightningModule& module) {
  for (const std::string& name : options_.backbone) freeze(find_submodule(module, name, kName), options_.train_bn);
  is_frozen_ = true;
}

void BackboneFinetuning::thaw_backbone(LightningModule& module) {
  for (at::Tensor& parameter : parameters_) parameter.set_requires_grad(true);
  for (const std::string& name : options_.backbone) {
    if (!options_.train_bn) thaw_running_statistics(find_submodule(module, name, kName));
  }
  is_frozen_ = false;
}

// A fit that is resumed begins here with its epoch, perhaps in the middle of it.
void BackboneFinetuning::on_fit_start(const RunContext& run) { apply(run); }

void BackboneFinetuning::on_train_epoch_start(const RunContext& run) { apply(run); }

void BackboneFinetuning::apply(const RunContext& run) {
  if (is_frozen_ && run.state.epoch >= options_.unfreeze_backbone_at_epoch) thaw_backbone(run.module);
  set_learning_rates(run);
}

// A schedule may have set the rate since the last step: after it, or in training_step itself.
void BackboneFinetuning::on_train_batch_start(const RunContext& run, const Batch& /*batch*/) {
  set_learning_rates(run);
}

void BackboneFinetuning::on_before_optimizer_step(const RunContext& run) { set_learning_rates(run); }

void BackboneFinetuning::set_learning_rates(const RunContext& run) const {
  for (const Split& split : splits_) {
    auto& groups = (*run.optimizers)[split.optimizer].param_groups();
    groups[split.group].options().set_lr(learning_rate(run.state.epoch, groups[split.source].options().get_lr()));
  }
}

void BackboneFinetuning::teardown(const RunContext& run) {
  if (is_frozen_) thaw_backbone(run.module);
  parameters_.clear();
  splits_.clear();
}

}  // namespace levin
