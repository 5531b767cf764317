#pragma once

#include <cstdint>

namespace levin {

enum class LearningRateScaling {
  kNone,
  kLinear,  ///< lr * batch / reference (Goyal et al. 2017, arXiv:1706.02677)
  kSqrt,    ///< lr * sqrt(batch / reference) (Krizhevsky 2014, arXiv:1404.5997)
};

/// The learning rate for global_batch samples a step (all ranks and micro-batches) of a rate that was tuned for
/// reference_batch samples. Errors: ConfigError if a number of samples is < 1 and the rule uses it.
double scaled_learning_rate(double lr, LearningRateScaling rule, int64_t global_batch, int64_t reference_batch);

}  // namespace levin
