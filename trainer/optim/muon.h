#pragma once

#include "trainer/core/optimizers.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_with.h"

namespace levin {

/// Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon; match_rms_adamw: Liu et al. 2025, arXiv:2502.16982) for
/// the 2-D weights of hidden layers, with AdamW for all other parameters in the same optimizer.
///
///   b = momentum * b + (1 - momentum) * g;  u = nesterov ? momentum * b + (1 - momentum) * g : b
///   o = ns_steps of the Newton-Schulz iteration, in bfloat16, that bring u's singular values near 1
///   p *= 1 - lr * weight_decay;  p -= lr * s * o, where p is [A, B] and s is
///   original: sqrt(max(1, A / B)), match_rms_adamw: 0.2 * sqrt(max(A, B))
///
/// Embeddings and output layers are 2-D too and belong to AdamW: name them in adamw_parameters.
class Muon final : public OptimizerWith<MuonOptions> {
 public:
  /// Errors of the three: ConfigError, which names each option with a forbidden value, and a pattern of
  /// adamw_parameters that no parameter's name matches.
  explicit Muon(const NamedParameters& parameters, const Options& options = {});
  /// Without names: every 2-D parameter is Muon's.
  explicit Muon(const std::vector<at::Tensor>& parameters, const Options& options = {});
  /// A group with GroupOptions<AdamWOptions> is AdamW's; the parameters of the others must be 2-D.
  explicit Muon(const std::vector<Group>& groups, const Options& options = {});

  /// Muon's group and AdamW's, and of each one without weight decay for the names that match no_decay. A group without
  /// parameters is left out.
  static std::vector<Group> groups_of(const NamedParameters& parameters, const Options& options,
                                      const std::vector<std::string>& no_decay = {});

  const std::vector<std::string>& state_names() const override;
  std::vector<at::Tensor> initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const override;
  void check_group(const torch::optim::OptimizerOptions& options) const override;

 private:
  void update(const AnyGroupOptions& options, Bucket& bucket) override;
};

}  // namespace levin
