#include "trainer/data/transforms/flip.h"

#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {

RandomHorizontalFlip::RandomHorizontalFlip(double probability) : probability_(probability) {
  if (!(probability >= 0.0 && probability <= 1.0)) {
    throw ConfigError(
        fmt::format("[RandomHorizontalFlip] the probability must be between 0 and 1, got {}.", probability));
  }
}

bool RandomHorizontalFlip::join(PixelPass& pass, const TransformRandom& random) const {
  if (!pass.can_flip()) return false;
  for (int64_t image = 0; image < pass.num_images(); ++image) {
    if (random.stream(image).chance(probability_)) pass.flip(image);
  }
  return true;
}

}  // namespace levin
