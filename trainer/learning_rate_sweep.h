#pragma once

#include <cstdint>

#include "callbacks/callback.h"
#include "trainer/tuner/learning_rate_finder.h"

namespace levin {

/// Takes a trial training through the rates of a LearningRateFinder.
class LearningRateSweep final : public Callback {
 public:
  /// The finder must outlive the sweep.
  explicit LearningRateSweep(LearningRateFinder& finder) : finder_(finder) {}

  void on_before_optimizer_step(const RunContext& run) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;

 private:
  LearningRateFinder& finder_;
  int64_t num_steps_ = 0;
  double loss_sum_ = 0.0;  // of the micro-batches since the last optimizer step
  double weight_ = 0.0;
};

}  // namespace levin
