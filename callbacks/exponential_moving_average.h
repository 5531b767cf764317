#pragma once

#include <cstdint>

#include "callbacks/weight_averaging.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Keeps an exponential moving average of the weights, and uses it wherever WeightAveraging says.
///
/// The average starts as the weights after `start_step` optimizer steps (0: the initial ones). After every
/// `update_every_n_steps` further steps
///
///   average = decay * average + (1 - decay) * weights
///
/// With warmup, update number t (from 0) uses min(decay, (1 + t) / (10 + t)), so that the initial weights are forgotten
/// fast (as tf.train.ExponentialMovingAverage does with num_updates).
class ExponentialMovingAverage final : public WeightAveraging {
 public:
  struct Options {
    double decay = 0.999;
    /// Optimizer steps between two updates.
    int64_t update_every_n_steps = 1;
    /// Optimizer steps before the average starts.
    int64_t start_step = 0;
    /// Let the decay grow from 0.1 to `decay`.
    bool warmup = false;
    /// Average the floating buffers too, such as the statistics of BatchNorm. False: those of the training are used.
    bool average_buffers = true;

    void visit(OptionVisitor& visitor);
  };

  ExponentialMovingAverage() : ExponentialMovingAverage(Options{}) {}
  /// Errors: ConfigError, which names all options that are wrong.
  explicit ExponentialMovingAverage(const Options& options);

  void on_train_start(const RunContext& run) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;

  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  Options options_;
  int64_t seen_step_ = 0;
};

}  // namespace levin
