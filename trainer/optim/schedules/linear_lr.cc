#include "trainer/optim/schedules/linear_lr.h"

#include <algorithm>

#include "callbacks/check_options.h"

namespace levin {

void LinearLR::Options::visit(OptionVisitor& visitor) {
  visitor.field("start_factor", start_factor, "factor on the learning rate at step 0", between(0, 1));
  visitor.field("end_factor", end_factor, "factor on the learning rate from total_iters on", between(0, 1));
  visitor.field("total_iters", total_iters, "steps from one factor to the other", at_least(1));
}

LinearLR::LinearLR(const Options& options) : options_(options) { check_options("LinearLR", options); }

double LinearLR::learning_rate(double base_lr, int64_t step) const {
  const double progress =
      static_cast<double>(std::min(step, options_.total_iters)) / static_cast<double>(options_.total_iters);
  return base_lr * (options_.start_factor + (options_.end_factor - options_.start_factor) * progress);
}

}  // namespace levin
