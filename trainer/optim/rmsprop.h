#pragma once

#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_with.h"

namespace levin {

/// RMSprop (Hinton 2012, lecture 6e of Neural Networks for Machine Learning), as PyTorch has it:
///
///   g = gradient + weight_decay * p;  v = alpha * v + (1 - alpha) * g^2;  a = alpha * a + (1 - alpha) * g
///   d = sqrt(centered ? v - a^2 : v) + eps;  b = momentum * b + g / d;  p -= lr * b
class RMSprop final : public OptimizerWith<RmspropOptions> {
 public:
  /// Errors of both: ConfigError, which names each option with a forbidden value.
  explicit RMSprop(std::vector<at::Tensor> parameters, const Options& options = {})
      : RMSprop(std::vector<Group>{Group(std::move(parameters))}, options) {}
  explicit RMSprop(const std::vector<Group>& groups, const Options& options = {})
      : OptimizerWith("RMSprop", groups, options) {
    check_groups();
  }

  const std::vector<std::string>& state_names() const override;
  std::vector<at::Tensor> initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const override;

 private:
  void update(const AnyGroupOptions& options, Bucket& bucket) override;
};

}  // namespace levin
