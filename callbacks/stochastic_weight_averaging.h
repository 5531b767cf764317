#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "callbacks/weight_averaging.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Averages the weights at the ends of the last epochs with equal shares, while the learning rate goes to a constant
/// (Izmailov et al. 2018, https://arxiv.org/abs/1803.05407), and uses the average wherever WeightAveraging says.
///
/// With n epochs before it starts, epoch e >= n (from 0) trains with
///
///   lr = swa_lr + (lr_n - swa_lr) * (1 + cos(pi * t)) / 2        (linear: ... * (1 - t)),  t = min(1, (e - n) /
///   annealing_epochs)
///
/// where lr_n is the learning rate of the parameter group when epoch n begins. From then on schedules have no effect:
/// this callback sets the learning rate before every step, whatever a schedule has set.
///
/// BatchNorm: its statistics belong to single weights, and the average needs its own. Taking them anew would need a
/// pass over the training data; instead the running means and variances are averaged like weights (average_buffers),
/// which comes close where the averaged weights are near each other. The average of the variances leaves out how far
/// the means were apart, so compare with a run without this callback before you rely on it.
///
/// The validation of an epoch measures the average of the epochs before it, since the epoch is not over then.
///
/// Errors of on_train_start: ConfigError if `start` is a fraction and max_epochs is not set, or lies behind the end.
class StochasticWeightAveraging final : public WeightAveraging {
 public:
  struct Options {
    /// Learning rate of all parameter groups at the end of the annealing. Unset: each keeps the one it has at the
    /// start.
    std::optional<double> swa_lr = std::nullopt;
    /// Epochs before the averaging: below 1 a fraction of max_epochs, rounded down; else their number, as in 75.
    double start = 0.8;
    /// Epochs until the learning rate is swa_lr; 0: at once.
    int64_t annealing_epochs = 10;
    /// "cos" or "linear".
    std::string annealing_strategy = "cos";
    /// Average the floating buffers too.
    bool average_buffers = true;

    void visit(OptionVisitor& visitor);
  };

  StochasticWeightAveraging() : StochasticWeightAveraging(Options{}) {}
  /// Errors: ConfigError, which names all options that are wrong.
  explicit StochasticWeightAveraging(const Options& options);

  void on_train_start(const RunContext& run) override;
  void on_train_epoch_start(const RunContext& run) override;
  void on_train_batch_start(const RunContext& run, const Batch& batch) override;
  void on_before_optimizer_step(const RunContext& run) override;
  void on_train_epoch_end(const RunContext& run) override;
  void teardown(const RunContext& run) override;

  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  double annealed(double initial, int64_t epoch) const;
  void set_learning_rates(const RunContext& run) const;

  Options options_;
  int64_t start_epoch_ = 0;
  std::vector<double> initial_learning_rates_;  // of all groups at the start; empty before
};

}  // namespace levin
