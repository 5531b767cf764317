#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/data/sampler.h"

namespace levin {

/// Mixes groups of samples by weights, such as the windows of several token files. Samples of a dataset are numbered
/// group by group. An epoch has a given number of samples, of which each group has its share, rounded to whole samples
/// (largest remainders, so that the shares add up); the groups are mixed evenly over the epoch.
///
/// A group's samples come in random order, none twice before all have come; then again in a new one. This goes on over
/// the epochs: with 100 samples and a share of 30 an epoch, the fourth begins the second round. All of it is a function
/// of seed and epoch, computed where it is read, without memory that grows with the dataset or the epoch.
class MixingSampler final : public Sampler {
 public:
  /// group_sizes: samples of each group. weights: one for each group, finite and >= 0, not all 0; they need not add up
  /// to 1. samples_per_epoch >= 1.
  /// Errors: ConfigError if these do not fit together, or a group with a weight above 0 has no share in an epoch of so
  /// few samples; DataError if a group with a weight above 0 has no samples.
  MixingSampler(std::vector<int64_t> group_sizes, const std::vector<double>& weights, int64_t samples_per_epoch);

  std::shared_ptr<const EpochOrder> order(uint64_t seed, int64_t epoch) const override;
  /// Samples of each group in an epoch; their sum is samples_per_epoch.
  const std::vector<int64_t>& shares() const { return shares_; }

 private:
  std::vector<int64_t> group_sizes_;
  std::vector<int64_t> shares_;
};

}  // namespace levin
