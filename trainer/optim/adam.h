#pragma once

#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_with.h"

namespace levin {

/// Adam (Kingma, Ba 2015, arXiv:1412.6980), with one fused kernel for all parameters of a kind. Weight decay is an L2
/// penalty, added to the gradient.
///
///   m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g^2
///   p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps);  amsgrad: the greatest v so far
class Adam final : public OptimizerWith<AdamOptions> {
 public:
  /// Errors of both: ConfigError, which names each option with a forbidden value.
  explicit Adam(std::vector<at::Tensor> parameters, const Options& options = {})
      : Adam(std::vector<Group>{Group(std::move(parameters))}, options) {}
  explicit Adam(const std::vector<Group>& groups, const Options& options = {})
      : OptimizerWith("Adam", groups, options) {
    check_groups();
  }

  const std::vector<std::string>& state_names() const override;
  std::vector<at::Tensor> initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const override;

 private:
  void update(const AnyGroupOptions& options, Bucket& bucket) override;
};

/// Adam with decoupled weight decay (Loshchilov, Hutter 2019, arXiv:1711.05101): p *= 1 - lr * weight_decay before the
/// update, which is Adam's.
class AdamW final : public OptimizerWith<AdamWOptions> {
 public:
  /// Errors of both: ConfigError, which names each option with a forbidden value.
  explicit AdamW(std::vector<at::Tensor> parameters, const Options& options = {})
      : AdamW(std::vector<Group>{Group(std::move(parameters))}, options) {}
  explicit AdamW(const std::vector<Group>& groups, const Options& options = {})
      : OptimizerWith("AdamW", groups, options) {
    check_groups();
  }

  const std::vector<std::string>& state_names() const override;
  std::vector<at::Tensor> initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const override;

 private:
  void update(const AnyGroupOptions& options, Bucket& bucket) override;
};

}  // namespace levin
