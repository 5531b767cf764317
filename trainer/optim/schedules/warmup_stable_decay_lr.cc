#include "trainer/optim/schedules/warmup_stable_decay_lr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "callbacks/check_options.h"
#include "trainer/core/error.h"
#include "trainer/optim/schedules/cosine_decay.h"

namespace levin {

void WarmupStableDecayLR::Options::visit(OptionVisitor& visitor) {
  visitor.field("warmup_steps", warmup_steps, "steps of the linear warm-up", at_least(0));
  visitor.field("decay_steps", decay_steps, "steps of the decay; null: a tenth of total_steps", at_least(1));
  visitor.field("total_steps", total_steps, "steps until eta_min; null: the length of the run", at_least(1));
  visitor.field("decay_shape", decay_shape, "shape of the decay", one_of({"linear", "cosine", "1-sqrt"}));
  visitor.field("eta_min", eta_min, "lowest learning rate after the warm-up", at_least(0));
}

WarmupStableDecayLR::WarmupStableDecayLR(const Options& options)
    : options_(options), total_steps_("WarmupStableDecayLR", "total_steps", options.total_steps) {
  check_options("WarmupStableDecayLR", options);
  if (!options.total_steps) return;
  if (options.warmup_steps + options.decay_steps.value_or(1) > *options.total_steps) {
    throw ConfigError(
        fmt::format("[WarmupStableDecayLR] warmup_steps + decay_steps must be <= total_steps, got {} + {} and {}.",
                    options.warmup_steps, options.decay_steps.value_or(1), *options.total_steps));
  }
}

double WarmupStableDecayLR::learning_rate(double base_lr, int64_t step) const {
  if (step < options_.warmup_steps) {
    return base_lr * static_cast<double>(step + 1) / static_cast<double>(options_.warmup_steps);
  }
  const int64_t total = total_steps_.value();
  const int64_t decay = options_.decay_steps.value_or((total + 9) / 10);
  if (step < total - decay) return base_lr;
  const double progress = std::min(static_cast<double>(step - total + decay) / static_cast<double>(decay), 1.0);
  if (options_.decay_shape == "cosine") return cosine_decay(base_lr, options_.eta_min, progress);
  const double factor = options_.decay_shape == "linear" ? 1.0 - progress : 1.0 - std::sqrt(progress);
  return options_.eta_min + (base_lr - options_.eta_min) * factor;
}

}  // namespace levin
