#include "trainer/optim/schedules/exponential_lr.h"

#include <cmath>

#include "callbacks/check_options.h"
#include "trainer/optim/schedules/required_option.h"

namespace levin {

void ExponentialLR::Options::visit(OptionVisitor& visitor) {
  visitor.field("gamma", gamma, "factor of each step", at_least(0));
}

ExponentialLR::ExponentialLR(const Options& options) : options_(options) {
  check_options("ExponentialLR", options);
  required_option("ExponentialLR", "gamma", options.gamma);
}

double ExponentialLR::learning_rate(double base_lr, int64_t step) const {
  return base_lr * std::pow(*options_.gamma, static_cast<double>(step));
}

}  // namespace levin
