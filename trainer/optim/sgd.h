#pragma once

#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_with.h"

namespace levin {

/// Stochastic gradient descent with momentum, with one fused kernel for all parameters of a kind:
///
///   g = gradient + weight_decay * p;  b = momentum * b + (1 - dampening) * g, at first b = g
///   p -= lr * (nesterov ? g + momentum * b : b)
class SGD final : public OptimizerWith<SgdOptions> {
 public:
  /// Errors of both: ConfigError, which names each option with a forbidden value.
  explicit SGD(std::vector<at::Tensor> parameters, const Options& options = {})
      : SGD(std::vector<Group>{Group(std::move(parameters))}, options) {}
  explicit SGD(const std::vector<Group>& groups, const Options& options = {}) : OptimizerWith("SGD", groups, options) {
    check_groups();
  }

  const std::vector<std::string>& state_names() const override;
  std::vector<at::Tensor> initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const override;

 private:
  void update(const AnyGroupOptions& options, Bucket& bucket) override;
};

}  // namespace levin
