#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"
#include "trainer/optim/schedules/run_length.h"

namespace levin {

/// WSD: linear warm-up, a constant rate, and a decay to eta_min at the end (Hu et al. 2024, arXiv:2404.06395; the shape
/// 1-sqrt: Haegele et al. 2024, arXiv:2405.18392).
///
///   step < warmup_steps:                base_lr * (step + 1) / warmup_steps
///   step < total_steps - decay_steps:   base_lr
///   then:                               eta_min + (base_lr - eta_min) * shape(p),
///                                       p = (step - total_steps + decay_steps) / decay_steps, at most 1
///   shape: linear 1 - p, cosine (1 + cos(pi * p)) / 2, 1-sqrt 1 - sqrt(p)
class WarmupStableDecayLR final : public Schedule {
 public:
  struct Options {
    int64_t warmup_steps = 0;
    std::optional<int64_t> decay_steps = std::nullopt;  ///< Default: a tenth of total_steps, rounded up.
    std::optional<int64_t> total_steps = std::nullopt;  ///< Default: the length of the run.
    std::string decay_shape = "1-sqrt";                 ///< linear, cosine or 1-sqrt
    double eta_min = 0.0;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit WarmupStableDecayLR(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;
  void set_total_steps(std::optional<int64_t> total_steps) override { total_steps_.set_total_steps(total_steps); }

 private:
  Options options_;
  RunLength total_steps_;
};

}  // namespace levin
