#include "trainer/optim/schedules/polynomial_lr.h"

#include <algorithm>
#include <cmath>

#include "callbacks/check_options.h"

namespace levin {

void PolynomialLR::Options::visit(OptionVisitor& visitor) {
  visitor.field("total_iters", total_iters, "steps until 0; null: the length of the run", at_least(1));
  visitor.field("power", power, "power of the polynomial", at_least(0));
}

PolynomialLR::PolynomialLR(const Options& options)
    : options_(options), total_steps_("PolynomialLR", "total_iters", options.total_iters) {
  check_options("PolynomialLR", options);
}

double PolynomialLR::learning_rate(double base_lr, int64_t step) const {
  const int64_t total = total_steps_.value();
  const double left = static_cast<double>(total - std::min(step, total)) / static_cast<double>(total);
  return base_lr * std::pow(left, options_.power);
}

}  // namespace levin
