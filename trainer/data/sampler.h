#pragma once

#include <cstdint>
#include <vector>

namespace levin {

/// 0, 1, ... size - 1.
std::vector<int64_t> sequential_order(int64_t size);

/// A permutation of 0 ... size - 1 that depends on seed and epoch alone (Fisher and Yates' shuffle over mt19937_64),
/// the same on every platform. size >= 0.
std::vector<int64_t> random_order(int64_t size, uint64_t seed, int64_t epoch);

}  // namespace levin
