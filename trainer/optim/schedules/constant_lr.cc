#include "trainer/optim/schedules/constant_lr.h"

#include "callbacks/check_options.h"

namespace levin {

void ConstantLR::Options::visit(OptionVisitor& visitor) {
  visitor.field("factor", factor, "factor on the learning rate until total_iters", between(0, 1));
  visitor.field("total_iters", total_iters, "steps before the full learning rate", at_least(0));
}

ConstantLR::ConstantLR(const Options& options) : options_(options) { check_options("ConstantLR", options); }

double ConstantLR::learning_rate(double base_lr, int64_t step) const {
  return step < options_.total_iters ? base_lr * options_.factor : base_lr;
}

}  // namespace levin
