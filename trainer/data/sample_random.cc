#include "trainer/data/sample_random.h"

#include "trainer/core/random.h"

namespace levin {

uint64_t RandomStream::operator()() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t bits = state_;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

int64_t RandomStream::below(int64_t bound) {
  const auto range = static_cast<uint64_t>(bound);
  const uint64_t limit = UINT64_MAX - UINT64_MAX % range;
  uint64_t value = (*this)();
  while (value >= limit) value = (*this)();
  return static_cast<int64_t>(value % range);
}

RandomStream SampleRandom::stream(int64_t index) const {
  // The sampler takes mix_seed(seed, epoch) for the order: another stream, so that neither repeats the other.
  constexpr uint64_t kSamples = 0x73616d706c6573;  // "samples"
  const uint64_t epoch_seed = mix_seed(mix_seed(seed, kSamples), static_cast<uint64_t>(epoch));
  return RandomStream(mix_seed(epoch_seed, static_cast<uint64_t>(index)));
}

}  // namespace levin
