#pragma once

#include <cstdint>

namespace levin {

/// Random numbers for one sample (SplitMix64; Steele, Lea, Flood 2014): cheap to make, so that each sample has its own.
/// A standard uniform random bit generator. Its draws are the same on every platform.
class RandomStream {
 public:
  using result_type = uint64_t;

  explicit RandomStream(uint64_t seed) : state_(seed) {}

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }
  /// 64 random bits.
  uint64_t operator()();

  /// Uniform in [0, bound), without bias. bound > 0.
  int64_t below(int64_t bound);
  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  /// True with the given probability.
  bool chance(double probability) { return uniform() < probability; }

 private:
  uint64_t state_;
};

/// Where the random numbers of samples come from: a function of the run's seed, the epoch and the sample's index, so
/// that what a sample looks like depends on neither workers, ranks nor batches.
struct SampleRandom {
  uint64_t seed = 0;
  int64_t epoch = 0;

  /// The numbers of sample `index`. The streams of two indices, epochs or seeds have nothing in common.
  RandomStream stream(int64_t index) const;
};

}  // namespace levin
