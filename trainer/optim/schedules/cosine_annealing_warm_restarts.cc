#include "trainer/optim/schedules/cosine_annealing_warm_restarts.h"

#include "callbacks/check_options.h"
#include "trainer/optim/schedules/cosine_decay.h"
#include "trainer/optim/schedules/required_option.h"

namespace levin {

void CosineAnnealingWarmRestarts::Options::visit(OptionVisitor& visitor) {
  visitor.field("T_0", T_0, "steps of the first period", at_least(1));
  visitor.field("T_mult", T_mult, "factor from one period to the next", at_least(1));
  visitor.field("eta_min", eta_min, "lowest learning rate", at_least(0));
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(const Options& options) : options_(options) {
  check_options("CosineAnnealingWarmRestarts", options);
  required_option("CosineAnnealingWarmRestarts", "T_0", options.T_0);
}

double CosineAnnealingWarmRestarts::learning_rate(double base_lr, int64_t step) const {
  int64_t period = *options_.T_0;
  if (options_.T_mult == 1) {
    step %= period;
  } else {
    for (; step >= period; period *= options_.T_mult) step -= period;
  }
  return cosine_decay(base_lr, options_.eta_min, static_cast<double>(step) / static_cast<double>(period));
}

}  // namespace levin
