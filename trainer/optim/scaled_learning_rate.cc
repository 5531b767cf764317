#include "trainer/optim/scaled_learning_rate.h"

#include <fmt/format.h>

#include <cmath>

#include "trainer/core/error.h"

namespace levin {

double scaled_learning_rate(double lr, LearningRateScaling rule, int64_t global_batch, int64_t reference_batch) {
  if (rule == LearningRateScaling::kNone) return lr;
  if (global_batch < 1 || reference_batch < 1) {
    throw ConfigError(fmt::format("[scaled_learning_rate] batch sizes must be >= 1, got {} and the reference {}.",
                                  global_batch, reference_batch));
  }
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(reference_batch);
  return lr * (rule == LearningRateScaling::kLinear ? ratio : std::sqrt(ratio));
}

}  // namespace levin
