#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"
#include "trainer/optim/schedules/run_length.h"

namespace levin {

/// base_lr * (1 - step / total_iters)^power, and 0 from total_iters on. total_iters defaults to the length of the run
/// (PyTorch: 5).
class PolynomialLR final : public Schedule {
 public:
  struct Options {
    std::optional<int64_t> total_iters = std::nullopt;
    double power = 1.0;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit PolynomialLR(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;
  void set_total_steps(std::optional<int64_t> total_steps) override { total_steps_.set_total_steps(total_steps); }

 private:
  Options options_;
  RunLength total_steps_;
};

}  // namespace levin
