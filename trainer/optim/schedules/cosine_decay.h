#pragma once

#include <cmath>
#include <numbers>

namespace levin {

/// Half a cosine from `start` (progress 0) to `end` (progress 1).
inline double cosine_decay(double start, double end, double progress) {
  return end + (start - end) * (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
}

}  // namespace levin
