#include "trainer/optim/schedules/one_cycle_lr.h"

#include <algorithm>
#include <array>

#include "callbacks/check_options.h"
#include "trainer/optim/schedules/cosine_decay.h"

namespace levin {

void OneCycleLR::Options::visit(OptionVisitor& visitor) {
  visitor.field("max_lr", max_lr, "highest learning rate; null: the optimizer's own", at_least(0));
  visitor.field("total_steps", total_steps, "steps of the cycle; null: the length of the run", at_least(1));
  visitor.field("pct_start", pct_start, "part of the steps in which the rate rises", between(0, 1));
  visitor.field("anneal_strategy", anneal_strategy, "shape of the phases", one_of({"cos", "linear"}));
  visitor.field("cycle_momentum", cycle_momentum, "cycle the momentum (or beta1) against the rate");
  visitor.field("base_momentum", base_momentum, "momentum at the highest rate", between(0, 1));
  visitor.field("max_momentum", max_momentum, "momentum at the lowest rate", between(0, 1));
  visitor.field("div_factor", div_factor, "highest rate / first rate", above(0));
  visitor.field("final_div_factor", final_div_factor, "first rate / last rate", above(0));
  visitor.field("three_phase", three_phase, "fall to the first rate as fast as it rose, then to the last one");
}

OneCycleLR::OneCycleLR(const Options& options)
    : options_(options), total_steps_("OneCycleLR", "total_steps", options.total_steps) {
  check_options("OneCycleLR", options);
}

double OneCycleLR::learning_rate(double base_lr, int64_t step) const {
  const double highest = options_.max_lr.value_or(base_lr);
  const double first = highest / options_.div_factor;
  const double last = first / options_.final_div_factor;
  const Position position = find_position(step);
  if (position.phase == 0) return anneal(first, highest, position.progress);
  if (position.phase == 1 && options_.three_phase) return anneal(highest, first, position.progress);
  return anneal(options_.three_phase ? first : highest, last, position.progress);
}

std::optional<double> OneCycleLR::momentum(int64_t step) const {
  if (!options_.cycle_momentum) return std::nullopt;
  const Position position = find_position(step);
  if (position.phase == 0) return anneal(options_.max_momentum, options_.base_momentum, position.progress);
  if (position.phase == 1) return anneal(options_.base_momentum, options_.max_momentum, position.progress);
  return options_.max_momentum;
}

OneCycleLR::Position OneCycleLR::find_position(int64_t step) const {
  const double total = static_cast<double>(total_steps_.value());
  const double rise_end = options_.pct_start * total - 1.0;
  const double fall_end = options_.three_phase ? 2.0 * options_.pct_start * total - 2.0 : total - 1.0;
  const std::array<double, 3> ends = {rise_end, fall_end, total - 1.0};
  const int last_phase = options_.three_phase ? 2 : 1;
  const double now = static_cast<double>(step);
  double start = 0.0;
  int phase = 0;
  for (; phase < last_phase && now > ends[phase]; ++phase) start = ends[phase];
  const double length = ends[phase] - start;
  return {phase, length > 0.0 ? std::clamp((now - start) / length, 0.0, 1.0) : 1.0};
}

double OneCycleLR::anneal(double start, double end, double progress) const {
  return options_.anneal_strategy == "linear" ? start + (end - start) * progress : cosine_decay(start, end, progress);
}

}  // namespace levin
