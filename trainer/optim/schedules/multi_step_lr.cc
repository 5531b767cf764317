#include "trainer/optim/schedules/multi_step_lr.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "callbacks/check_options.h"
#include "trainer/core/error.h"

namespace levin {

void MultiStepLR::Options::visit(OptionVisitor& visitor) {
  visitor.field("milestones", milestones, "steps at which the learning rate decays", at_least(0));
  visitor.field("gamma", gamma, "factor of each decay", at_least(0));
}

MultiStepLR::MultiStepLR(const Options& options) : options_(options) {
  check_options("MultiStepLR", options);
  const std::vector<int64_t>& milestones = options.milestones;
  if (milestones.empty()) throw ConfigError("[MultiStepLR] milestones must be given.");
  if (!std::is_sorted(milestones.begin(), milestones.end())) {
    throw ConfigError(fmt::format("[MultiStepLR] milestones must rise, got [{}].", fmt::join(milestones, ", ")));
  }
}

double MultiStepLR::learning_rate(double base_lr, int64_t step) const {
  const auto next = std::upper_bound(options_.milestones.begin(), options_.milestones.end(), step);
  return base_lr * std::pow(options_.gamma, static_cast<double>(next - options_.milestones.begin()));
}

}  // namespace levin
