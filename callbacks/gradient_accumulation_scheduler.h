#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "callbacks/callback.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Changes the number of micro-batches of an optimizer step while the training goes on, for example to let the batch
/// grow as the gradients get smaller.
///
///   GradientAccumulationScheduler({.scheduling = {{0, 8}, {4, 4}}})   // 8 in epochs 0 to 3, then 4
///   GradientAccumulationScheduler({.by_step = {{0, 1}, {1000, 4}}})   // 4 from optimizer step 1000 on
///
/// Before the first key it is 1. A change holds from the next window on; a window that is open (at the border of an
/// epoch with accumulate_across_epochs, or after a resume) keeps its size.
///
/// The length of the run in steps, which schedules without total_steps take, and lr_scaling are worked out before the
/// training with 1 micro-batch for each step: give schedules by step their total_steps.
///
/// Errors: ConfigError in setup if accumulate_grad_batches of the Trainer is not 1, or the module steps its optimizers
/// itself.
class GradientAccumulationScheduler final : public Callback {
 public:
  /// Exactly one of both maps must be given.
  struct Options {
    /// Epoch (from 0) -> micro-batches of an optimizer step from it on; >= 1.
    std::map<int64_t, int64_t> scheduling = {};
    /// global_step (from 0) -> micro-batches of that optimizer step and those after it; >= 1.
    std::map<int64_t, int64_t> by_step = {};

    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names all options that are wrong.
  explicit GradientAccumulationScheduler(const Options& options);

  /// The micro-batches of an optimizer step that begins there.
  int64_t num_batches_at(int64_t epoch, int64_t global_step) const;

  void setup(const RunContext& run) override;
  void on_train_start(const RunContext& run) override;
  void on_train_epoch_start(const RunContext& run) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;

 private:
  void apply(const RunContext& run);

  Options options_;
  int64_t applied_step_ = -1;  // global_step of the last change
};

}  // namespace levin
