#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/sampler.h"

namespace levin {

/// The samples of each unit of an order.
inline std::vector<std::vector<int64_t>> units_of(const EpochOrder& order) {
  std::vector<std::vector<int64_t>> units(static_cast<size_t>(order.size()));
  for (size_t i = 0; i < units.size(); ++i) order.read(static_cast<int64_t>(i), units[i]);
  return units;
}

/// The samples of an order, one after the other.
inline std::vector<int64_t> samples_of(const EpochOrder& order) {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < order.size(); ++i) order.read(i, samples);
  return samples;
}

}  // namespace levin
