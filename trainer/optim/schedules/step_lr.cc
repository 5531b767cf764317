#include "trainer/optim/schedules/step_lr.h"

#include <cmath>

#include "callbacks/check_options.h"
#include "trainer/optim/schedules/required_option.h"

namespace levin {

void StepLR::Options::visit(OptionVisitor& visitor) {
  visitor.field("step_size", step_size, "steps from one decay to the next", at_least(1));
  visitor.field("gamma", gamma, "factor of each decay", at_least(0));
}

StepLR::StepLR(const Options& options) : options_(options) {
  check_options("StepLR", options);
  required_option("StepLR", "step_size", options.step_size);
}

double StepLR::learning_rate(double base_lr, int64_t step) const {
  const int64_t num_reductions = step / *options_.step_size;
  return base_lr * std::pow(options_.gamma, static_cast<double>(num_reductions));
}

}  // namespace levin
