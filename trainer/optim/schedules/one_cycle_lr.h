#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"
#include "trainer/optim/schedules/run_length.h"

namespace levin {

/// The 1cycle policy (Smith, Topin 2018, arXiv:1708.07120): the rate rises from max_lr / div_factor to max_lr in the
/// first pct_start of the steps and falls to max_lr / div_factor / final_div_factor at the last one, where it stays;
/// momentum (or beta1) goes the other way. With three_phase the fall to the first rate mirrors the rise, and the rest
/// of the steps go on to the lowest rate.
class OneCycleLR final : public Schedule {
 public:
  struct Options {
    std::optional<double> max_lr = std::nullopt;        ///< Default: the optimizer's own learning rate.
    std::optional<int64_t> total_steps = std::nullopt;  ///< Default: the length of the run.
    double pct_start = 0.3;
    std::string anneal_strategy = "cos";  ///< cos or linear
    bool cycle_momentum = true;
    double base_momentum = 0.85;
    double max_momentum = 0.95;
    double div_factor = 25.0;
    double final_div_factor = 1e4;
    bool three_phase = false;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit OneCycleLR(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;
  std::optional<double> momentum(int64_t step) const override;
  void set_total_steps(std::optional<int64_t> total_steps) override { total_steps_.set_total_steps(total_steps); }

 private:
  Options options_;
  RunLength total_steps_;

  struct Position {
    int phase = 0;
    double progress = 0.0;  ///< In [0, 1].
  };
  Position find_position(int64_t step) const;
  double anneal(double start, double end, double progress) const;
};

}  // namespace levin
