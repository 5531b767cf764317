#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "callbacks/callback.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/metric_store.h"
#include "trainer/hooks.h"
#include "trainer/loss_window.h"
#include "trainer/memory_limit.h"
#include "trainer/micro_batches.h"
#include "trainer/optimizer_driver.h"
#include "trainer/run.h"

namespace levin {

/// One micro-batch and one optimizer step, flat: forward, backward with gradient synchronisation, unscale and finite
/// check, clip, step, scaler update, zero_grad.
class TrainStep final : public ManualOptimization {
 public:
  /// The references must outlive the step.
  TrainStep(Run& run, LightningModule& module, OptimizerDriver& driver, MetricStore& store, LossWindow& window,
            const RunContext& context);

  /// training_step and backward. The window has begun. What training_step does by itself in manual optimization is in
  /// run.state.global_step afterwards. Errors: ModelError.
  ///
  /// A batch that is larger than TrainerOptions::micro_batch_size goes through in parts, whose gradients add up to
  /// those of the whole; what the parts log becomes one value of the step. Errors: c10::OutOfMemoryError where not even
  /// one sample fits.
  StepOutput forward_backward(const Batch& batch);
  /// The optimizer step of a window in which all micro-batches are done. False: there was nothing to step on, or it was
  /// skipped; gradients are zero again in any case. Errors: ModelError.
  bool optimizer_step(const Batch& batch);
  /// In on_before_optimizer_step.
  void skip() { is_skipped_ = true; }

  MicroBatches& micro_batches() { return micro_batches_; }
  const MicroBatches& micro_batches() const { return micro_batches_; }

  size_t num_optimizers() const override { return driver_.size(); }
  Optimizer& optimizer(size_t index) override;
  void backward(const at::Tensor& loss) override;
  void step(size_t index) override;
  void zero_grad(size_t index) override;
  void toggle(size_t index) override;
  void untoggle() override;
  void step_schedule(size_t index) override;

 private:
  /// A part of a batch, or the whole.
  struct Part {
    const Batch& batch;
    int64_t batch_samples = 0;  // of the whole batch, where this is a part
    bool is_last = true;        // of the batch
  };
  StepOutput run_part(const Part& part, MetricStore& store);
  StepOutput run_in_parts(const Batch& batch);
  std::optional<StepOutput> try_part(const Part& part);
  void run_backward(const at::Tensor& loss, GradSync sync);
  bool apply_step(size_t index);
  void step_with_closure(Optimizer& optimizer);
  at::Tensor evaluate_window();
  StepContext step_context() { return {Stage::kTrain, run_.state, &store_}; }

  Run& run_;
  LightningModule& module_;
  OptimizerDriver& driver_;
  MetricStore& store_;
  LossWindow& window_;
  const RunContext& context_;
  Strategy& strategy_;
  Precision& precision_;
  Hooks hooks_;
  std::vector<at::Tensor> parameters_;  // of all optimizers, each once
  std::vector<at::Tensor> buffers_;     // of the module, where parts of a batch may fail
  MicroBatches micro_batches_;
  MetricStore part_store_{Stage::kTrain};  // of one part of a batch
  std::unique_ptr<MemoryLimit> memory_limit_;
  bool is_manual_;
  bool needs_closure_;
  bool is_skipped_ = false;
  std::vector<Batch> window_batches_;  // of this window, for an optimizer that evaluates it again
  at::Tensor window_loss_;
  std::vector<std::pair<at::Tensor, bool>> toggled_;  // with their requires_grad before toggle()
};

}  // namespace levin
