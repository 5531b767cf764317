#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"

namespace levin {

/// A linear warm-up (or decay): the factor on base_lr goes from start_factor at step 0 to end_factor at step
/// total_iters, and stays there.
class LinearLR final : public Schedule {
 public:
  struct Options {
    double start_factor = 1.0 / 3.0;
    double end_factor = 1.0;
    int64_t total_iters = 5;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit LinearLR(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;

 private:
  Options options_;
};

}  // namespace levin
