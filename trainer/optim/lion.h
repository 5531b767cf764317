#pragma once

#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_with.h"

namespace levin {

/// Lion (Chen et al. 2023, arXiv:2302.06675). Its learning rate is usually a third to a tenth of AdamW's.
///
///   p *= 1 - lr * weight_decay;  p -= lr * sign(beta1 * m + (1 - beta1) * g);  m = beta2 * m + (1 - beta2) * g
class Lion final : public OptimizerWith<LionOptions> {
 public:
  /// Errors of both: ConfigError, which names each option with a forbidden value.
  explicit Lion(std::vector<at::Tensor> parameters, const Options& options = {})
      : Lion(std::vector<Group>{Group(std::move(parameters))}, options) {}
  explicit Lion(const std::vector<Group>& groups, const Options& options = {})
      : OptimizerWith("Lion", groups, options) {
    check_groups();
  }

  const std::vector<std::string>& state_names() const override;
  std::vector<at::Tensor> initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const override;

 private:
  void update(const AnyGroupOptions& options, Bucket& bucket) override;
};

}  // namespace levin
