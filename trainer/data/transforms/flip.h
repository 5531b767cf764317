#pragma once

#include "trainer/data/transforms/transform.h"

namespace levin {

/// Mirrors an image left to right with the given probability.
class RandomHorizontalFlip final : public PixelTransform {
 public:
  /// Errors: ConfigError if the probability is not in [0, 1].
  explicit RandomHorizontalFlip(double probability = 0.5);

  /// Any real element type.
  bool join(PixelPass& pass, const TransformRandom& random) const override;

 private:
  double probability_;
};

}  // namespace levin
