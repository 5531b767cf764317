#pragma once

#include <cstdint>
#include <vector>

namespace levin {

/// Which samples of a dataset belong to which part: disjoint, and together all. Each part is in ascending order.
struct RandomSplit {
  std::vector<int64_t> train;
  std::vector<int64_t> val;
  std::vector<int64_t> test;
};

/// Deals samples 0 ... size - 1 at random. val_fraction, test_fraction: their parts of all, each rounded to whole
/// samples; the rest is for training. A function of its arguments alone, the same on every platform.
/// Errors: ConfigError if a fraction is outside of [0, 1) or their sum is not below 1; DataError if a part that is
/// asked for, or that for training, gets no sample.
RandomSplit random_split(int64_t size, double val_fraction, double test_fraction, uint64_t seed);

}  // namespace levin
