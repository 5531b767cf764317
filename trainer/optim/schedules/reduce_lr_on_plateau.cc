#include "trainer/optim/schedules/reduce_lr_on_plateau.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "callbacks/check_options.h"
#include "trainer/core/error.h"

namespace levin {

void ReduceLROnPlateau::Options::visit(OptionVisitor& visitor) {
  visitor.field("mode", mode, "whether a lower or a higher metric is better", one_of({"min", "max"}));
  visitor.field("factor", factor, "factor of each reduction, < 1", between(0, 1));
  visitor.field("patience", patience, "observations without improvement that are tolerated", at_least(0));
  visitor.field("threshold", threshold, "smallest change that is an improvement", at_least(0));
  visitor.field("threshold_mode", threshold_mode, "threshold relative to the best value or absolute",
                one_of({"rel", "abs"}));
  visitor.field("cooldown", cooldown, "observations after a reduction that do not count", at_least(0));
  visitor.field("min_lr", min_lr, "lowest learning rate", at_least(0));
  visitor.field("eps", eps, "smallest change of the learning rate", at_least(0));
}

ReduceLROnPlateau::ReduceLROnPlateau(const Options& options) : options_(options), best_(worst(options)) {
  check_options("ReduceLROnPlateau", options);
  if (options.factor >= 1.0) {
    throw ConfigError(fmt::format("[ReduceLROnPlateau] factor must be < 1, got {}.", options.factor));
  }
}

double ReduceLROnPlateau::learning_rate(double base_lr, int64_t step) const {
  static_cast<void>(step);  // what was observed decides
  double rate = base_lr;
  for (int64_t i = 0; i < num_reductions_; ++i) {
    const double reduced = std::max(rate * options_.factor, options_.min_lr);
    if (rate - reduced <= options_.eps) break;  // nor would a later one change it
    rate = reduced;
  }
  return rate;
}

double ReduceLROnPlateau::worst(const Options& options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return options.mode == "max" ? -kInfinity : kInfinity;
}

bool ReduceLROnPlateau::is_better(double metric) const {
  const double threshold = options_.threshold;
  const bool is_relative = options_.threshold_mode == "rel";
  if (options_.mode == "min") return metric < (is_relative ? best_ * (1.0 - threshold) : best_ - threshold);
  return metric > (is_relative ? best_ * (1.0 + threshold) : best_ + threshold);
}

void ReduceLROnPlateau::observe(double metric) {
  if (is_better(metric)) {
    best_ = metric;
    num_bad_ = 0;
  } else {
    ++num_bad_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    num_bad_ = 0;
  }
  if (num_bad_ > options_.patience) {
    ++num_reductions_;
    cooldown_left_ = options_.cooldown;
    num_bad_ = 0;
  }
}

StateDict ReduceLROnPlateau::state() const {
  StateDict state;
  state.set("best", best_);
  state.set("num_bad", num_bad_);
  state.set("cooldown_left", cooldown_left_);
  state.set("num_reductions", num_reductions_);
  return state;
}

void ReduceLROnPlateau::load_state(const StateDict& state) {
  const double best = state.real("best");
  const int64_t num_bad = state.integer("num_bad");
  const int64_t cooldown_left = state.integer("cooldown_left");
  num_reductions_ = state.integer("num_reductions");
  best_ = best;
  num_bad_ = num_bad;
  cooldown_left_ = cooldown_left;
}

}  // namespace levin
