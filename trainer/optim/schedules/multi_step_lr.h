#pragma once

#include <vector>

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"

namespace levin {

/// base_lr * gamma^(number of milestones <= step).
class MultiStepLR final : public Schedule {
 public:
  struct Options {
    std::vector<int64_t> milestones = {};  ///< Must be given, rising.
    double gamma = 0.1;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit MultiStepLR(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;

 private:
  Options options_;
};

}  // namespace levin
