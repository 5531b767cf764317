#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trainer/core/batch.h"

namespace levin {

/// Makes a batch of samples that have no batch dimension. Called from several threads at a time.
using Collate = std::function<Batch(std::span<const Batch>)>;

/// The default: every leaf of the samples' trees is stacked to [B, ...]. Errors: DataError if the trees, the shapes or
/// the types differ; it names the leaf, the two samples and what they have.
Batch stack_samples(std::span<const Batch> samples);

/// How pad_collate() fills up.
struct PadOptions {
  /// What stands after the end of a shorter sequence, for each leaf of the sample's tree in order; the last value
  /// serves all leaves after it.
  std::vector<double> values = {0.0};
  /// Lengths are rounded up to a multiple of this, so that kernels meet few shapes.
  int64_t multiple_of = 1;
};

/// For sequences of different lengths: each leaf [L_i, ...] is padded at its end to the longest, [B, L, ...], and the
/// batch has the lengths as its last item or as the field "lengths" (int64 [B], of the first leaf with a dimension).
/// Scalars are stacked. Errors of the function: DataError as of stack_samples(), but for the first dimension.
/// Errors: ConfigError if multiple_of < 1 or there are no values.
Collate pad_collate(PadOptions options = {});

}  // namespace levin
