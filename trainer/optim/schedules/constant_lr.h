#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"

namespace levin {

/// base_lr * factor for the first total_iters steps, then base_lr.
class ConstantLR final : public Schedule {
 public:
  struct Options {
    double factor = 1.0 / 3.0;
    int64_t total_iters = 5;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit ConstantLR(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;

 private:
  Options options_;
};

}  // namespace levin
