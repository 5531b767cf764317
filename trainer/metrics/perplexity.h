#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trainer/core/metric.h"
#include "trainer/metrics/class_targets.h"

namespace levin {

struct PerplexityOptions {
  /// Targets with this value do not count, such as padding.
  int64_t ignore_index = kIgnoreIndex;
};

/// exp of the mean negative log-likelihood of the tokens (in nats), over all tokens alike (Jelinek et al., 1977).
/// Computed in double from the logits.
class Perplexity final : public ScalarMetric {
 public:
  explicit Perplexity(PerplexityOptions options = {}) : options_(options) {}

  /// `logits`: [N, V] or [B, T, V] of floating type, the classes last. `targets`: [N] or [B, T] of integer type. Any
  /// device, without synchronising it. Errors: ModelError if they do not fit.
  void update(const at::Tensor& logits, const at::Tensor& targets);
  /// Errors: ModelError on all ranks if a target was not in [0, V) and not ignored.
  double compute(Communicator& communicator) const override;

  void reset() override;
  StateDict state() const override;
  void merge_state(const StateDict& state) override;

 private:
  PerplexityOptions options_;
  at::Tensor sum_;     // float64 [1], of the negative log-likelihoods; undefined until something is seen
  at::Tensor counts_;  // int64 [2]: tokens, invalid
};

}  // namespace levin
