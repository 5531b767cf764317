#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"

namespace levin {

/// base_lr * gamma^step.
class ExponentialLR final : public Schedule {
 public:
  struct Options {
    std::optional<double> gamma = std::nullopt;  ///< Must be given.
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit ExponentialLR(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;

 private:
  Options options_;
};

}  // namespace levin
