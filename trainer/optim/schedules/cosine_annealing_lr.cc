#include "trainer/optim/schedules/cosine_annealing_lr.h"

#include "callbacks/check_options.h"
#include "trainer/optim/schedules/cosine_decay.h"

namespace levin {

void CosineAnnealingLR::Options::visit(OptionVisitor& visitor) {
  visitor.field("T_max", T_max, "steps until eta_min; null: the length of the run", at_least(1));
  visitor.field("eta_min", eta_min, "lowest learning rate", at_least(0));
}

CosineAnnealingLR::CosineAnnealingLR(const Options& options)
    : options_(options), total_steps_("CosineAnnealingLR", "T_max", options.T_max) {
  check_options("CosineAnnealingLR", options);
}

double CosineAnnealingLR::learning_rate(double base_lr, int64_t step) const {
  return cosine_decay(base_lr, options_.eta_min, static_cast<double>(step) / static_cast<double>(total_steps_.value()));
}

}  // namespace levin
