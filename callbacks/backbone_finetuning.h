#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "callbacks/callback.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Freezes a backbone at the start of a fit, and trains it too from an epoch on, at a lower learning rate that grows.
///
/// From epoch u = unfreeze_backbone_at_epoch (from 0) on, epoch e >= u trains the backbone with
///
///   lr = main_lr * backbone_initial_ratio_lr * multiplier^(e - u)      with should_align: at most main_lr
///        (backbone_initial_lr * multiplier^(e - u)                     where that is set)
///
/// before each step. main_lr is what the schedule gives those parameters at this step, so that warm-up and decay act on
/// the backbone as well. Until the thaw they have no gradients, no state in the optimizer, and the rate 0.
///
/// configure_optimizers hands all parameters over, those of the backbone too, and freezes nothing itself. Once the
/// optimizers are made, each group that has parameters of the backbone is split: they go to a group of their own with
/// the same options, behind all others. Everything follows from the epoch: a resumed fit goes on bit by bit, and needs
/// this callback with the same backbone and train_bn. For a gradual thaw use it several times, with other parts.
///
/// - Parameters that were frozen before the fit stay so. After the fit, or an error in it, the backbone is no longer
///   frozen.
/// - With train_bn, parameters and statistics of BatchNorm in the backbone go on learning at the main rate all the
/// time;
///   without it, both stay until the thaw.
///
/// Errors, before the first step: ConfigError if there is no such submodule, no optimizer has its parameters, they are
/// in LBFGS, have no learning rate, or nothing else is left to train.
class BackboneFinetuning final : public Callback {
 public:
  struct Options {
    /// Dotted names of the submodules, as "encoder.layers.0"; at least one.
    std::vector<std::string> backbone = {"backbone"};
    /// The first epoch that trains the backbone; 0: all do.
    int64_t unfreeze_backbone_at_epoch = 10;
    /// What the rate is multiplied by from epoch to epoch; > 0.
    double multiplier = 2.0;
    /// The rate at the thaw, as a share of main_lr; > 0.
    double backbone_initial_ratio_lr = 0.1;
    /// The rate at the thaw itself, instead of a share; > 0. Schedules then act only through should_align.
    std::optional<double> backbone_initial_lr = std::nullopt;
    /// The rate never exceeds main_lr.
    bool should_align = true;
    /// Modules with running statistics, such as BatchNorm, are not frozen.
    bool train_bn = true;

    void visit(OptionVisitor& visitor);
  };

  BackboneFinetuning() : BackboneFinetuning(Options{}) {}
  /// Errors: ConfigError, which names all options that are wrong.
  explicit BackboneFinetuning(const Options& options);

  /// The backbone's learning rate in an epoch; 0 before the thaw.
  double learning_rate(int64_t epoch, double main_lr) const;

  void on_after_configure_optimizers(const RunContext& run) override;
  void on_fit_start(const RunContext& run) override;
  void on_train_epoch_start(const RunContext& run) override;
  void on_train_batch_start(const RunContext& run, const Batch& batch) override;
  void on_before_optimizer_step(const RunContext& run) override;
  void teardown(const RunContext& run) override;

 private:
  /// A group of the backbone, and the one that it was split from.
  struct Split {
    size_t optimizer, source, group;
  };

  void find_parameters(LightningModule& module);
  void split_groups(Optimizers& optimizers, size_t index);
  void freeze_backbone(LightningModule& module);
  void thaw_backbone(LightningModule& module);
  void apply(const RunContext& run);
  void set_learning_rates(const RunContext& run) const;

  Options options_;
  std::vector<at::Tensor> parameters_;  // each once; those that were frozen before the fit excepted
  std::vector<Split> splits_;
  bool is_frozen_ = false;
};

}  // namespace levin
