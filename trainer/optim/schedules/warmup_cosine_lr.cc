#include "trainer/optim/schedules/warmup_cosine_lr.h"

#include <fmt/format.h>

#include "callbacks/check_options.h"
#include "trainer/core/error.h"
#include "trainer/optim/schedules/cosine_decay.h"

namespace levin {

void WarmupCosineLR::Options::visit(OptionVisitor& visitor) {
  visitor.field("warmup_steps", warmup_steps, "steps of the linear warm-up", at_least(0));
  visitor.field("total_steps", total_steps, "steps until eta_min, warm-up included; null: the length of the run",
                at_least(1));
  visitor.field("eta_min", eta_min, "lowest learning rate after the warm-up", at_least(0));
}

WarmupCosineLR::WarmupCosineLR(const Options& options)
    : options_(options), total_steps_("WarmupCosineLR", "total_steps", options.total_steps) {
  check_options("WarmupCosineLR", options);
  if (options.total_steps && options.warmup_steps >= *options.total_steps) {
    throw ConfigError(fmt::format("[WarmupCosineLR] warmup_steps must be < total_steps, got {} and {}.",
                                  options.warmup_steps, *options.total_steps));
  }
}

double WarmupCosineLR::learning_rate(double base_lr, int64_t step) const {
  const int64_t warmup = options_.warmup_steps;
  if (step < warmup) return base_lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const int64_t decay = total_steps_.value() - warmup;
  // A run that ends within the warm-up has no decay.
  const double progress = step - warmup < decay ? static_cast<double>(step - warmup) / static_cast<double>(decay) : 1.0;
  return cosine_decay(base_lr, options_.eta_min, progress);
}

}  // namespace levin
