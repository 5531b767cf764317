#pragma once

#include <array>
#include <cstdint>

namespace levin {

/// A permutation of 0 ... size - 1 that is computed where it is read: a Feistel network over an even number of bits,
/// with cycle walking (Black, Rogaway 2002). Neither memory nor construction grow with the size.
class KeyedPermutation {
 public:
  /// size >= 1. Another key is another permutation.
  KeyedPermutation(int64_t size, uint64_t key);

  /// Where `position`, in [0, size), goes.
  int64_t operator()(int64_t position) const;

 private:
  uint64_t permute(uint64_t value) const;

  uint64_t size_;
  int half_bits_;
  std::array<uint64_t, 6> keys_ = {};
};

}  // namespace levin
