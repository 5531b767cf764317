#include "callbacks/loggers/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace levin {
namespace {

constexpr size_t kNumBuckets = 30;

}  // namespace

Histogram make_histogram(const at::Tensor& values) {
  const at::Tensor tensor = values.detach().to(at::kCPU, at::kDouble).contiguous();
  const std::span<const double> numbers(tensor.const_data_ptr<double>(), static_cast<size_t>(tensor.numel()));
  Histogram histogram{.min = std::numeric_limits<double>::infinity(), .max = -std::numeric_limits<double>::infinity()};
  for (const double x : numbers) {
    if (!std::isfinite(x)) continue;
    histogram.min = std::min(histogram.min, x);
    histogram.max = std::max(histogram.max, x);
    histogram.num += 1;
    histogram.sum += x;
    histogram.sum_squares += x * x;
  }
  if (histogram.num == 0) return {.limits = {0.0}, .counts = {0.0}};
  if (histogram.min == histogram.max) {
    histogram.limits = {histogram.max};
    histogram.counts = {histogram.num};
    return histogram;
  }
  for (size_t i = 1; i < kNumBuckets; ++i) {
    // Neither overflows where max - min would, nor leaves the range.
    histogram.limits.push_back(std::lerp(histogram.min, histogram.max, static_cast<double>(i) / kNumBuckets));
  }
  histogram.limits.push_back(histogram.max);
  histogram.counts.assign(kNumBuckets, 0.0);
  for (const double x : numbers) {
    if (!std::isfinite(x)) continue;
    const auto above = std::upper_bound(histogram.limits.begin(), histogram.limits.end(), x);
    histogram.counts[std::min(static_cast<size_t>(above - histogram.limits.begin()), kNumBuckets - 1)] += 1;
  }
  return histogram;
}

}  // namespace levin
