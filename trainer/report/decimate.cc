#include "trainer/report/decimate.h"

#include <algorithm>
#include <cmath>

namespace levin {
namespace {

constexpr size_t kPointsPerStretch = 5;

void keep_extremes(const std::vector<double>& values, size_t begin, size_t end, std::vector<size_t>& kept) {
  size_t lowest = end;
  size_t highest = end;
  size_t first_gap = end;
  for (size_t i = begin; i < end; ++i) {
    if (!std::isfinite(values[i])) {
      first_gap = std::min(first_gap, i);
      continue;
    }
    if (lowest == end || values[i] < values[lowest]) lowest = i;
    if (highest == end || values[i] > values[highest]) highest = i;
  }
  std::vector<size_t> stretch = {begin, lowest, highest, first_gap, end - 1};
  std::sort(stretch.begin(), stretch.end());
  stretch.erase(std::unique(stretch.begin(), stretch.end()), stretch.end());
  std::copy_if(stretch.begin(), stretch.end(), std::back_inserter(kept), [&](size_t i) { return i < end; });
}

}  // namespace

std::vector<size_t> stretches(size_t num_values, size_t max_points) {
  const size_t count = std::max<size_t>(max_points / kPointsPerStretch, 1);
  std::vector<size_t> begins;
  for (size_t i = 0; i < count && num_values > 0; ++i) {
    const size_t begin = num_values * i / count;
    if (begins.empty() || begin > begins.back()) begins.push_back(begin);
  }
  return begins;
}

std::vector<size_t> decimate(const std::vector<double>& values, size_t max_points) {
  std::vector<size_t> kept;
  if (values.size() <= max_points) {
    for (size_t i = 0; i < values.size(); ++i) kept.push_back(i);
    return kept;
  }
  const std::vector<size_t> begins = stretches(values.size(), max_points);
  for (size_t i = 0; i < begins.size(); ++i) {
    keep_extremes(values, begins[i], i + 1 < begins.size() ? begins[i + 1] : values.size(), kept);
  }
  return kept;
}

}  // namespace levin
