#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "strategies/strategy.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/metrics.h"
#include "trainer/core/optimizers.h"
#include "trainer/core/trainer_options.h"

namespace levin {

/// The optimizers of a fit and their schedules: clipping, steps, learning rates, saved state.
class OptimizerDriver {
 public:
  /// The references must outlive the driver. Errors: ConfigError if automatic optimization has more than one optimizer.
  OptimizerDriver(const TrainerOptions& options, Strategy& strategy, LightningModule& module, Optimizers& optimizers);

  /// Once before the training: scales learning rates with the global batch size, tells the schedules their length, and
  /// sets the rates of the first step. total_*: of the whole run, nullopt if unlimited.
  void prepare(std::optional<int64_t> global_batch_size, std::optional<int64_t> total_steps,
               std::optional<int64_t> total_epochs);

  Optimizers& optimizers() { return optimizers_; }
  size_t size() const { return optimizers_.size(); }
  /// True if optimizer 0 needs a closure (LBFGS).
  bool needs_closure() const;

  /// Calls the module's clipping hook for optimizer `index`.
  void clip(size_t index, StepContext& ctx);
  void zero_grad();

  /// An optimizer step of `index` was made, or an epoch has ended: schedules that count it move on. `metrics` has what
  /// schedules monitor. Errors: ConfigError if a strict schedule's metric is missing.
  void on_step(size_t index, const Metrics& metrics);
  void on_epoch(const Metrics& metrics);
  /// One interval of the schedule of `index`, whatever it counts (manual optimization).
  void advance(size_t index, const Metrics& metrics);

  /// "<index>.…" of every optimizer and schedule, by parameter names. Tensors share the optimizer's memory.
  StateDict state() const;
  /// Errors: CheckpointError; the optimizers are then as they were, or partly so if there are several.
  void load_state(const StateDict& state);

 private:
  void apply(size_t index);

  const TrainerOptions& options_;
  Strategy& strategy_;
  LightningModule& module_;
  Optimizers& optimizers_;
  std::vector<int64_t> intervals_;  // steps or epochs that each schedule has counted
};

/// Each tensor once, in the order of the groups.
std::vector<at::Tensor> parameters_of(const Optimizer& optimizer);

}  // namespace levin
