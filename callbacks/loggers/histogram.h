#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace levin {

/// How often values fall into buckets of equal width between the smallest and the largest.
struct Histogram {
  double min = 0;
  double max = 0;
  double num = 0;  // values counted
  double sum = 0;
  double sum_squares = 0;
  /// The upper edge of each bucket, rising; the first begins at min, the last ends at max.
  std::vector<double> limits = {};
  std::vector<double> counts = {};
};

/// Counts the finite values of `values` (any shape and device, a real dtype) in 30 buckets, as many as TensorBoard's
/// own writer makes. A value on an edge belongs to the bucket above, max to the last. All values equal: one bucket. No
/// finite value: one empty bucket at 0.
Histogram make_histogram(const at::Tensor& values);

}  // namespace levin
