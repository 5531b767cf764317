#pragma once

#include <cstddef>
#include <vector>

namespace levin {

/// The indices of at most about `max_points` of the values, in order, that draw the same curve: the values are cut into
/// stretches of equal length, and of each the first, the last, the lowest, the highest and the first that is not finite
/// stay. All indices if there are no more than `max_points`. max_points: at least 10.
std::vector<size_t> decimate(const std::vector<double>& values, size_t max_points);

/// The stretches of decimate(): [begin, end) of each, as begins; the last end is num_values.
std::vector<size_t> stretches(size_t num_values, size_t max_points);

}  // namespace levin
