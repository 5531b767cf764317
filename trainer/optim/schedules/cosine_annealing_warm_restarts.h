#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"

namespace levin {

/// Cosine decay to eta_min that starts anew after T_0 steps, then after T_0 * T_mult, and so on (SGDR: Loshchilov,
/// Hutter 2017, arXiv:1608.03983).
class CosineAnnealingWarmRestarts final : public Schedule {
 public:
  struct Options {
    std::optional<int64_t> T_0 = std::nullopt;  ///< Must be given.
    int64_t T_mult = 1;
    double eta_min = 0.0;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit CosineAnnealingWarmRestarts(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;

 private:
  Options options_;
};

}  // namespace levin
