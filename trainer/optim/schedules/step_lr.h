#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"

namespace levin {

/// base_lr * gamma^floor(step / step_size).
class StepLR final : public Schedule {
 public:
  struct Options {
    std::optional<int64_t> step_size = std::nullopt;  ///< Must be given.
    double gamma = 0.1;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit StepLR(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;

 private:
  Options options_;
};

}  // namespace levin
