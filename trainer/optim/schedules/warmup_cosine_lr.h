#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"
#include "trainer/optim/schedules/run_length.h"

namespace levin {

/// Linear warm-up, then a cosine to eta_min, where it stays.
///
///   step < warmup_steps:  base_lr * (step + 1) / warmup_steps
///   then:                 eta_min + (base_lr - eta_min) * (1 + cos(pi * p)) / 2,
///                         p = (step - warmup_steps) / (total_steps - warmup_steps), at most 1
class WarmupCosineLR final : public Schedule {
 public:
  struct Options {
    int64_t warmup_steps = 0;
    std::optional<int64_t> total_steps = std::nullopt;  ///< Warm-up included. Default: the length of the run.
    double eta_min = 0.0;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit WarmupCosineLR(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;
  void set_total_steps(std::optional<int64_t> total_steps) override { total_steps_.set_total_steps(total_steps); }

 private:
  Options options_;
  RunLength total_steps_;
};

}  // namespace levin
