#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace levin {

/// One rule of byte-pair encoding: `left` followed by `right` becomes `merged`.
struct BpeMerge {
  uint32_t left = 0;
  uint32_t right = 0;
  uint32_t merged = 0;
};

/// Byte-pair encoding of one piece of text (Sennrich, Haddow, Birch 2016): again and again the pair whose rule comes
/// first, and of several such pairs the leftmost, is merged.
class BpeMerges {
 public:
  /// The rules, first come first. Of two for one pair the later counts.
  explicit BpeMerges(std::span<const BpeMerge> merges);

  /// Merges the tokens of a piece in place. O(n log n).
  void apply(std::vector<uint32_t>& tokens) const;

 private:
  static constexpr uint32_t kNoRank = UINT32_MAX;

  struct Slot {
    uint64_t pair = UINT64_MAX;  // left << 32 | right; all ones: an empty slot
    uint32_t rank = kNoRank;
    uint32_t merged = 0;
  };

  /// The slot of a pair, or the empty one where it would be.
  size_t find_slot(uint64_t pair) const;
  const Slot& find(uint32_t left, uint32_t right) const { return slots_[find_slot(uint64_t{left} << 32 | right)]; }
  void apply_to_short(std::vector<uint32_t>& tokens) const;
  void apply_to_long(std::vector<uint32_t>& tokens) const;

  std::vector<Slot> slots_;  // a hash table with open addresses; its size is a power of two
  int shift_ = 0;
};

}  // namespace levin
