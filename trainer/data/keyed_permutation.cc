#include "trainer/data/keyed_permutation.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "trainer/core/random.h"

namespace levin {
namespace {

// With fewer bits the network has too few different permutations.
constexpr int kLeastHalfBits = 3;

}  // namespace

KeyedPermutation::KeyedPermutation(int64_t size, uint64_t key)
    : size_(static_cast<uint64_t>(size)),
      half_bits_(std::max((static_cast<int>(std::bit_width(size_ - 1)) + 1) / 2, kLeastHalfBits)) {
  for (size_t round = 0; round < keys_.size(); ++round) keys_[round] = mix_seed(key, round);
}

int64_t KeyedPermutation::operator()(int64_t position) const {
  auto value = static_cast<uint64_t>(position);
  do {
    value = permute(value);
  } while (value >= size_);
  return static_cast<int64_t>(value);
}

uint64_t KeyedPermutation::permute(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (const uint64_t key : keys_) {
    left ^= mix_seed(key, right) & mask;
    std::swap(left, right);
  }
  return left << half_bits_ | right;
}

}  // namespace levin
