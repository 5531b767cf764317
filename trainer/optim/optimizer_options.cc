#include "trainer/optim/optimizer_options.h"

#include <fmt/format.h>

#include "trainer/optim/check_optimizer.h"

namespace levin {
namespace {

constexpr const char* kLearningRate = "learning rate";
constexpr const char* kWeightDecay = "weight decay";
constexpr const char* kEpsilon = "added to the denominator";
constexpr const char* kMomentum = "momentum factor";
constexpr const char* kBetas = "decay of the two moments";
constexpr const char* kMaximize = "maximize the loss";

template <class Options>
void visit_adam(Options& options, OptionVisitor& visitor) {
  visitor.field("lr", options.lr, kLearningRate, at_least(0));
  visitor.field("betas", options.betas, kBetas);
  visitor.field("eps", options.eps, kEpsilon, at_least(0));
  visitor.field("weight_decay", options.weight_decay, kWeightDecay, at_least(0));
  visitor.field("amsgrad", options.amsgrad, "use the maximum of past second moments");
  visitor.field("maximize", options.maximize, kMaximize);
}

}  // namespace

void SgdOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, kLearningRate, at_least(0));
  visitor.field("momentum", momentum, kMomentum, at_least(0));
  visitor.field("dampening", dampening, "dampening of the momentum");
  visitor.field("weight_decay", weight_decay, kWeightDecay, at_least(0));
  visitor.field("nesterov", nesterov, "Nesterov momentum");
  visitor.field("maximize", maximize, kMaximize);
}

std::vector<std::string> SgdOptions::problems() const {
  if (!nesterov || (momentum > 0.0 && dampening == 0.0)) return {};
  return {fmt::format("nesterov needs momentum > 0 and dampening 0, got momentum {} and dampening {}", momentum,
                      dampening)};
}

void AdamOptions::visit(OptionVisitor& visitor) { visit_adam(*this, visitor); }
std::vector<std::string> AdamOptions::problems() const { return betas_problems(betas); }

void AdamWOptions::visit(OptionVisitor& visitor) { visit_adam(*this, visitor); }
std::vector<std::string> AdamWOptions::problems() const { return betas_problems(betas); }

void RmspropOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, kLearningRate, at_least(0));
  visitor.field("alpha", alpha, "smoothing of the squared gradient", between(0, 1));
  visitor.field("eps", eps, kEpsilon, at_least(0));
  visitor.field("weight_decay", weight_decay, kWeightDecay, at_least(0));
  visitor.field("momentum", momentum, kMomentum, at_least(0));
  visitor.field("centered", centered, "normalise by the variance of the gradient");
  visitor.field("maximize", maximize, kMaximize);
}

void AdagradOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, kLearningRate, at_least(0));
  visitor.field("lr_decay", lr_decay, "decay of the learning rate", at_least(0));
  visitor.field("weight_decay", weight_decay, kWeightDecay, at_least(0));
  visitor.field("initial_accumulator_value", initial_accumulator_value, "first sum of squares", at_least(0));
  visitor.field("eps", eps, kEpsilon, at_least(0));
  visitor.field("maximize", maximize, kMaximize);
}

void LionOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, kLearningRate, at_least(0));
  visitor.field("betas", betas, "weight of the momentum in the update, and its decay");
  visitor.field("weight_decay", weight_decay, kWeightDecay, at_least(0));
  visitor.field("maximize", maximize, kMaximize);
}
std::vector<std::string> LionOptions::problems() const { return betas_problems(betas); }

void AdafactorOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, "highest relative step size", at_least(0));
  visitor.field("beta2_decay", beta2_decay, "power of the step in the decay of the second moment", {.maximum = 0});
  visitor.field("eps1", eps1, "floor of the second moment; null: the dtype's epsilon", at_least(0));
  visitor.field("eps2", eps2, "floor of the parameter's scale", at_least(0));
  visitor.field("d", d, "clipping threshold of the update", at_least(1));
  visitor.field("weight_decay", weight_decay, kWeightDecay, at_least(0));
  visitor.field("maximize", maximize, kMaximize);
}

void MuonOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, kLearningRate, at_least(0));
  visitor.field("weight_decay", weight_decay, kWeightDecay, at_least(0));
  visitor.field("momentum", momentum, kMomentum, at_least(0));
  visitor.field("nesterov", nesterov, "Nesterov momentum");
  visitor.field("ns_coefficients", ns_coefficients, "coefficients of the Newton-Schulz iteration");
  visitor.field("eps", eps, "least norm that is divided by", at_least(0));
  visitor.field("ns_steps", ns_steps, "steps of the Newton-Schulz iteration", between(0, 99));
  visitor.field("adjust_lr", adjust_lr, "how lr depends on the shape", one_of({"original", "match_rms_adamw"}));
  visitor.field("adamw_lr", adamw_lr, "learning rate of AdamW's parameters; null: lr", at_least(0));
  visitor.field("adamw_betas", adamw_betas, kBetas);
  visitor.field("adamw_eps", adamw_eps, kEpsilon, at_least(0));
  visitor.field("adamw_weight_decay", adamw_weight_decay, "weight decay of AdamW's parameters", at_least(0));
  visitor.field("adamw_parameters", adamw_parameters, "name patterns (*embed*) of 2-D parameters for AdamW");
}

std::vector<std::string> MuonOptions::problems() const {
  std::vector<std::string> result;
  for (const std::string& problem : betas_problems(adamw_betas)) result.push_back("adamw_" + problem);
  if (ns_coefficients.size() != 3) {
    result.push_back(fmt::format("ns_coefficients must be three numbers, got {}", ns_coefficients.size()));
  }
  return result;
}

void LbfgsOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, kLearningRate, at_least(0));
  visitor.field("max_iter", max_iter, "iterations of a step", at_least(1));
  visitor.field("max_eval", max_eval, "evaluations of the loss in a step; null: max_iter * 5 / 4", at_least(1));
  visitor.field("tolerance_grad", tolerance_grad, "gradient at which a step ends", at_least(0));
  visitor.field("tolerance_change", tolerance_change, "change at which a step ends", at_least(0));
  visitor.field("history_size", history_size, "updates that are remembered", at_least(1));
  visitor.field("line_search_fn", line_search_fn, "line search", one_of({"none", "strong_wolfe"}));
}

}  // namespace levin
