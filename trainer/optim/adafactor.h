#pragma once

#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_with.h"

namespace levin {

/// Adafactor (Shazeer, Stern 2018, arXiv:1804.04235) as PyTorch has it: for a parameter of two or more dimensions only
/// the means of rows and columns of the second moment are kept. The device is not synchronised.
///
///   rho = min(lr, 1 / sqrt(t));  alpha = max(eps2, rms(p)) * rho;  beta2 = 1 - t^beta2_decay
///   p *= 1 - lr * weight_decay;  u = g / sqrt(max(v, eps1^2));  p -= alpha * u / max(1, rms(u) / d)
class Adafactor final : public OptimizerWith<AdafactorOptions> {
 public:
  /// Errors of both: ConfigError, which names each option with a forbidden value.
  explicit Adafactor(std::vector<at::Tensor> parameters, const Options& options = {})
      : Adafactor(std::vector<Group>{Group(std::move(parameters))}, options) {}
  explicit Adafactor(const std::vector<Group>& groups, const Options& options = {})
      : OptimizerWith("Adafactor", groups, options) {
    check_groups();
  }

  const std::vector<std::string>& state_names() const override;
  std::vector<at::Tensor> initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const override;

 private:
  void update(const AnyGroupOptions& options, Bucket& bucket) override;
};

}  // namespace levin
