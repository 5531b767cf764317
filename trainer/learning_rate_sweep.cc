#include "trainer/learning_rate_sweep.h"

#include "trainer/tune.h"

namespace levin {

void LearningRateSweep::on_before_optimizer_step(const RunContext& run) {
  set_learning_rate(*run.optimizers, finder_.learning_rate(num_steps_));
}

void LearningRateSweep::on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) {
  if (!output.is_skip()) {
    const double weight = output.is_weighted() ? output.weight() : static_cast<double>(batch.batch_size());
    const double loss = output.loss().item().toDouble();
    loss_sum_ += output.is_weighted() ? loss : loss * weight;
    weight_ += weight;
  }
  if (run.state.global_step == num_steps_) return;
  num_steps_ = run.state.global_step;
  if (!finder_.add(loss_sum_ / weight_)) run.control.request_stop("the learning-rate finder has seen enough");
  loss_sum_ = weight_ = 0.0;
}

}  // namespace levin
