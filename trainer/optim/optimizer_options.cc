#include "trainer/optim/optimizer_options.h"

#include <fmt/format.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <tuple>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr const char* kLearningRate = "learning rate";
constexpr const char* kWeightDecay = "weight decay";
constexpr const char* kEpsilon = "added to the denominator";

std::tuple<double, double> to_betas(const std::vector<double>& betas) {
  if (betas.size() != 2) throw ConfigError(fmt::format("[optimizer] betas must be two numbers, got {}.", betas.size()));
  for (const double beta : betas) {
    if (!(beta >= 0.0 && beta < 1.0))
      throw ConfigError(fmt::format("[optimizer] betas must be in [0, 1), got {}.", beta));
  }
  return {betas[0], betas[1]};
}

template <class Optimizer, class Options>
Optimizers make_optimizer(std::vector<at::Tensor> parameters, const Options& options) {
  return std::make_unique<Optimizer>(std::move(parameters), options);
}

// Adam and AdamW: LibTorch's two types of options have the same fields.
template <class LibtorchOptions>
LibtorchOptions to_libtorch(const AdamOptions& options) {
  LibtorchOptions result(options.lr);
  result.betas(to_betas(options.betas)).eps(options.eps).weight_decay(options.weight_decay).amsgrad(options.amsgrad);
  return result;
}

}  // namespace

void SgdOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, kLearningRate, at_least(0));
  visitor.field("momentum", momentum, "momentum factor", at_least(0));
  visitor.field("dampening", dampening, "dampening of the momentum");
  visitor.field("weight_decay", weight_decay, kWeightDecay, at_least(0));
  visitor.field("nesterov", nesterov, "Nesterov momentum");
}

Optimizers SgdOptions::make(std::vector<at::Tensor> parameters) const {
  if (nesterov && (momentum <= 0.0 || dampening != 0.0)) {
    throw ConfigError(
        fmt::format("[optimizer] nesterov needs momentum > 0 and dampening 0, got momentum {} and dampening {}.",
                    momentum, dampening));
  }
  return make_optimizer<torch::optim::SGD>(std::move(parameters), torch::optim::SGDOptions(lr)
                                                                      .momentum(momentum)
                                                                      .dampening(dampening)
                                                                      .weight_decay(weight_decay)
                                                                      .nesterov(nesterov));
}

void AdamOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, kLearningRate, at_least(0));
  visitor.field("betas", betas, "decay of the two moments");
  visitor.field("eps", eps, kEpsilon, at_least(0));
  visitor.field("weight_decay", weight_decay, kWeightDecay, at_least(0));
  visitor.field("amsgrad", amsgrad, "use the maximum of past second moments");
}

Optimizers AdamOptions::make(std::vector<at::Tensor> parameters) const {
  return make_optimizer<torch::optim::Adam>(std::move(parameters), to_libtorch<torch::optim::AdamOptions>(*this));
}

Optimizers AdamWOptions::make(std::vector<at::Tensor> parameters) const {
  return make_optimizer<torch::optim::AdamW>(std::move(parameters), to_libtorch<torch::optim::AdamWOptions>(*this));
}

void RmspropOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, kLearningRate, at_least(0));
  visitor.field("alpha", alpha, "smoothing of the squared gradient", between(0, 1));
  visitor.field("eps", eps, kEpsilon, at_least(0));
  visitor.field("weight_decay", weight_decay, kWeightDecay, at_least(0));
  visitor.field("momentum", momentum, "momentum factor", at_least(0));
  visitor.field("centered", centered, "normalise by the variance of the gradient");
}

Optimizers RmspropOptions::make(std::vector<at::Tensor> parameters) const {
  return make_optimizer<torch::optim::RMSprop>(std::move(parameters), torch::optim::RMSpropOptions(lr)
                                                                          .alpha(alpha)
                                                                          .eps(eps)
                                                                          .weight_decay(weight_decay)
                                                                          .momentum(momentum)
                                                                          .centered(centered));
}

void AdagradOptions::visit(OptionVisitor& visitor) {
  visitor.field("lr", lr, kLearningRate, at_least(0));
  visitor.field("lr_decay", lr_decay, "decay of the learning rate", at_least(0));
  visitor.field("weight_decay", weight_decay, kWeightDecay, at_least(0));
  visitor.field("eps", eps, kEpsilon, at_least(0));
}

Optimizers AdagradOptions::make(std::vector<at::Tensor> parameters) const {
  return make_optimizer<torch::optim::Adagrad>(
      std::move(parameters), torch::optim::AdagradOptions(lr).lr_decay(lr_decay).weight_decay(weight_decay).eps(eps));
}

}  // namespace levin
