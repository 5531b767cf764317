#pragma once

#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_with.h"

namespace levin {

/// Adagrad (Duchi, Hazan, Singer 2011), with one fused kernel for all parameters of a kind:
///
///   g = gradient + weight_decay * p;  sum += g^2;  p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(sum) + eps)
class Adagrad final : public OptimizerWith<AdagradOptions> {
 public:
  /// Errors of both: ConfigError, which names each option with a forbidden value.
  explicit Adagrad(std::vector<at::Tensor> parameters, const Options& options = {})
      : Adagrad(std::vector<Group>{Group(std::move(parameters))}, options) {}
  explicit Adagrad(const std::vector<Group>& groups, const Options& options = {})
      : OptimizerWith("Adagrad", groups, options) {
    check_groups();
  }

  const std::vector<std::string>& state_names() const override;
  std::vector<at::Tensor> initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const override;

 private:
  void update(const AnyGroupOptions& options, Bucket& bucket) override;
};

}  // namespace levin
