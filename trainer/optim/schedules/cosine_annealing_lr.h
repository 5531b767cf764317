#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"
#include "trainer/optim/schedules/run_length.h"

namespace levin {

/// eta_min + (base_lr - eta_min) * (1 + cos(pi * step / T_max)) / 2 (Loshchilov, Hutter 2017, arXiv:1608.03983).
///
/// As in PyTorch it rises again after T_max; T_max defaults to the length of the run. WarmupCosineLR stays at eta_min.
class CosineAnnealingLR final : public Schedule {
 public:
  struct Options {
    std::optional<int64_t> T_max = std::nullopt;
    double eta_min = 0.0;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit CosineAnnealingLR(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;
  void set_total_steps(std::optional<int64_t> total_steps) override { total_steps_.set_total_steps(total_steps); }

 private:
  Options options_;
  RunLength total_steps_;
};

}  // namespace levin
