#include "callbacks/exponential_moving_average.h"

#include <algorithm>

#include "callbacks/check_options.h"

namespace levin {

void ExponentialMovingAverage::Options::visit(OptionVisitor& visitor) {
  visitor.field("decay", decay, "share of the old average that an update keeps", between(0, 1));
  visitor.field("update_every_n_steps", update_every_n_steps, "optimizer steps between two updates", at_least(1));
  visitor.field("start_step", start_step, "optimizer steps before the average starts", at_least(0));
  visitor.field("warmup", warmup, "let the decay of update t grow as (1 + t) / (10 + t) up to `decay`");
  visitor.field("average_buffers", average_buffers, "average floating buffers, such as BatchNorm's, as well");
}

ExponentialMovingAverage::ExponentialMovingAverage(const Options& options)
    : WeightAveraging(options.average_buffers), options_(options) {
  check_options("ExponentialMovingAverage", options_);
}

void ExponentialMovingAverage::on_train_start(const RunContext& run) {
  seen_step_ = run.state.global_step;
  if (!has_average() && seen_step_ >= options_.start_step) begin_average();
}

void ExponentialMovingAverage::on_train_batch_end(const RunContext& run, const StepOutput& /*output*/,
                                                  const Batch& /*batch*/) {
  const int64_t step = run.state.global_step;
  if (step == seen_step_) return;  // within an accumulation window, or the step was left out
  seen_step_ = step;
  if (!has_average()) {
    if (step >= options_.start_step) begin_average();
    return;
  }
  if ((step - options_.start_step) % options_.update_every_n_steps != 0) return;
  const auto t = static_cast<double>(num_updates());
  const double decay = options_.warmup ? std::min(options_.decay, (1.0 + t) / (10.0 + t)) : options_.decay;
  update_average(1.0 - decay);
}

StateDict ExponentialMovingAverage::state() const {
  StateDict state = WeightAveraging::state();
  state.set("seen_step", seen_step_);
  return state;
}

void ExponentialMovingAverage::load_state(const StateDict& state) {
  WeightAveraging::load_state(state);
  seen_step_ = state.integer("seen_step");
}

}  // namespace levin
