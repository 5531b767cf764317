#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/data/sampler.h"

namespace levin {

/// How a LengthSampler makes batches. One of batch_size and max_tokens must be given.
struct LengthSamplerOptions {
  /// Samples of a batch.
  std::optional<int64_t> batch_size = std::nullopt;
  /// Tokens of a batch after padding: its longest sample times its number of samples is at most this.
  std::optional<int64_t> max_tokens = std::nullopt;
  /// A new order each epoch. False: samples sorted by length within each bucket, buckets in order.
  bool shuffle = true;
  /// So many samples, neighbours in the order, are sorted by length before they are cut into batches: more of them
  /// leave less padding and less randomness. Rounded up to whole batches where batch_size alone decides.
  int64_t bucket_size = 1024;
  /// Leave out batches that are not full (batch_size only).
  bool drop_last = false;
};

/// Batches of samples of like length, so that little padding is needed: the epoch's order is cut into buckets, each is
/// sorted by length and cut into batches, and the batches are shuffled. A function of seed and epoch alone.
class LengthSampler final : public Sampler {
 public:
  /// lengths: tokens of each sample, > 0. Errors: ConfigError for options that do not fit together, DataError if a
  /// sample is longer than max_tokens (it names the first) or there are no samples.
  LengthSampler(std::vector<int64_t> lengths, LengthSamplerOptions options);
  std::shared_ptr<const EpochOrder> order(uint64_t seed, int64_t epoch) const override;
  bool makes_batches() const override { return true; }

 private:
  std::vector<int64_t> lengths_;
  LengthSamplerOptions options_;
};

}  // namespace levin
