#include "trainer/data/tokens/mixing_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/random.h"
#include "trainer/data/keyed_permutation.h"

namespace levin {
namespace {

/// One epoch. Position p is dealt to slot mix(p); the slots of the groups stand one after the other.
class MixedOrder final : public EpochOrder {
 public:
  MixedOrder(std::vector<int64_t> group_sizes, const std::vector<int64_t>& shares, uint64_t seed, int64_t epoch)
      : group_sizes_(std::move(group_sizes)),
        ends_(shares.size()),
        seed_(seed),
        epoch_(epoch),
        mix_(std::reduce(shares.begin(), shares.end()), mix_seed(seed, static_cast<uint64_t>(epoch))) {
    std::partial_sum(shares.begin(), shares.end(), ends_.begin());
    firsts_.resize(group_sizes_.size());
    std::exclusive_scan(group_sizes_.begin(), group_sizes_.end(), firsts_.begin(), int64_t{0});
  }

  int64_t size() const override { return ends_.back(); }

  void read(int64_t position, std::vector<int64_t>& indices) const override {
    const int64_t slot = mix_(position);
    const auto group = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), slot) - ends_.begin());
    const int64_t begin = group == 0 ? 0 : ends_[group - 1];
    const int64_t share = ends_[group] - begin;
    // Samples that the group has given before, in this epoch and the earlier ones.
    const int64_t drawn = epoch_ * share + (slot - begin);
    const int64_t size = group_sizes_[group];
    const KeyedPermutation round(size, key(group, drawn / size));
    indices.push_back(firsts_[group] + round(drawn % size));
  }

 private:
  uint64_t key(size_t group, int64_t round) const {
    constexpr uint64_t kGroups = 0x67726f757073;  // "groups": apart from the streams of the epochs
    return mix_seed(mix_seed(mix_seed(seed_, kGroups), group), static_cast<uint64_t>(round));
  }

  std::vector<int64_t> group_sizes_;
  std::vector<int64_t> firsts_;  // first sample of each group
  std::vector<int64_t> ends_;    // one past the last slot of each group
  uint64_t seed_;
  int64_t epoch_;
  KeyedPermutation mix_;
};

void check_weights(const std::vector<double>& weights, size_t num_groups) {
  if (weights.size() != num_groups || weights.empty()) {
    throw ConfigError(fmt::format("[MixingSampler] there must be a weight for each of the {} groups, got {}.",
                                  num_groups, weights.size()));
  }
  for (size_t group = 0; group < weights.size(); ++group) {
    if (!std::isfinite(weights[group]) || weights[group] < 0.0) {
      throw ConfigError(
          fmt::format("[MixingSampler] a weight must be finite and >= 0, got {} for group {}.", weights[group], group));
    }
  }
  if (std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0.0; })) {
    throw ConfigError("[MixingSampler] a weight must be above 0, but all are 0.");
  }
}

std::vector<int64_t> apportion(const std::vector<double>& weights, int64_t total) {
  // Divided by the largest first, so that no sum overflows.
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0.0;
  for (const double weight : weights) sum += weight / largest;
  std::vector<int64_t> shares;
  std::vector<std::pair<double, size_t>> remainders;
  for (size_t group = 0; group < weights.size(); ++group) {
    const double exact = weights[group] / largest / sum * static_cast<double>(total);
    shares.push_back(static_cast<int64_t>(exact));
    remainders.emplace_back(static_cast<double>(shares.back()) - exact, group);
  }
  std::sort(remainders.begin(), remainders.end());  // the largest remainder first, of equal ones the first group's
  int64_t rest = total - std::reduce(shares.begin(), shares.end());
  for (size_t i = 0; rest > 0; i = (i + 1) % remainders.size()) {
    if (weights[remainders[i].second] == 0.0) continue;
    ++shares[remainders[i].second];
    --rest;
  }
  return shares;
}

}  // namespace

MixingSampler::MixingSampler(std::vector<int64_t> group_sizes, const std::vector<double>& weights,
                             int64_t samples_per_epoch)
    : group_sizes_(std::move(group_sizes)) {
  check_weights(weights, group_sizes_.size());
  constexpr int64_t kMostSamples = int64_t{1} << 48;  // doubles count exactly, and epochs have room below 2^63
  if (samples_per_epoch < 1 || samples_per_epoch > kMostSamples) {
    throw ConfigError(fmt::format("[MixingSampler] an epoch must have between 1 and {} samples, got {}.", kMostSamples,
                                  samples_per_epoch));
  }
  shares_ = apportion(weights, samples_per_epoch);
  for (size_t group = 0; group < weights.size(); ++group) {
    if (weights[group] > 0.0 && group_sizes_[group] < 1) {
      throw DataError(fmt::format("[MixingSampler] group {} must have samples, since its weight is {}, got {}.", group,
                                  weights[group], group_sizes_[group]));
    }
    if (weights[group] > 0.0 && shares_[group] == 0) {
      throw ConfigError(
          fmt::format("[MixingSampler] group {} of weight {} has no share in an epoch of {} samples. Make "
                      "the epoch longer, or the weight 0.",
                      group, weights[group], samples_per_epoch));
    }
  }
}

std::shared_ptr<const EpochOrder> MixingSampler::order(uint64_t seed, int64_t epoch) const {
  return std::make_shared<MixedOrder>(group_sizes_, shares_, seed, epoch);
}

}  // namespace levin
