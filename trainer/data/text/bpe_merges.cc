#include "trainer/data/text/bpe_merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <queue>
#include <tuple>

namespace levin {
namespace {

// Up to here, looking at all pairs for each merge is faster than a heap.
constexpr size_t kShort = 64;
constexpr size_t kNone = SIZE_MAX;

}  // namespace

BpeMerges::BpeMerges(std::span<const BpeMerge> merges) : slots_(std::bit_ceil(2 * merges.size() + 2)) {
  shift_ = 64 - std::countr_zero(slots_.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const uint64_t pair = uint64_t{merges[i].left} << 32 | merges[i].right;
    slots_[find_slot(pair)] = {.pair = pair, .rank = static_cast<uint32_t>(i), .merged = merges[i].merged};
  }
}

size_t BpeMerges::find_slot(uint64_t pair) const {
  size_t slot = pair * 0x9E3779B97F4A7C15u >> shift_;
  while (slots_[slot].pair != pair && slots_[slot].pair != UINT64_MAX) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void BpeMerges::apply(std::vector<uint32_t>& tokens) const {
  tokens.size() <= kShort ? apply_to_short(tokens) : apply_to_long(tokens);
}

void BpeMerges::apply_to_short(std::vector<uint32_t>& tokens) const {
  size_t size = tokens.size();
  if (size < 2) return;
  std::array<uint32_t, kShort> ranks;  // of each token with its right neighbour
  for (size_t i = 0; i + 1 < size; ++i) ranks[i] = find(tokens[i], tokens[i + 1]).rank;
  while (size > 1) {
    const auto best = std::min_element(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(size) - 1);
    if (*best == kNoRank) break;
    const auto at = static_cast<size_t>(best - ranks.begin());
    tokens[at] = find(tokens[at], tokens[at + 1]).merged;
    for (size_t i = at + 1; i + 1 < size; ++i) {
      tokens[i] = tokens[i + 1];
      ranks[i] = ranks[i + 1];
    }
    --size;
    if (at + 1 < size) ranks[at] = find(tokens[at], tokens[at + 1]).rank;
    if (at > 0) ranks[at - 1] = find(tokens[at - 1], tokens[at]).rank;
  }
  tokens.resize(size);
}

void BpeMerges::apply_to_long(std::vector<uint32_t>& tokens) const {
  const size_t size = tokens.size();
  std::vector<size_t> previous(size);
  std::vector<size_t> next(size);
  std::priority_queue<std::pair<uint32_t, size_t>, std::vector<std::pair<uint32_t, size_t>>, std::greater<>> queue;
  const auto push = [&](size_t at) {
    if (at == kNone || next[at] == kNone) return;
    const uint32_t rank = find(tokens[at], tokens[next[at]]).rank;
    if (rank != kNoRank) queue.emplace(rank, at);
  };
  for (size_t i = 0; i < size; ++i) {
    previous[i] = i == 0 ? kNone : i - 1;
    next[i] = i + 1 == size ? kNone : i + 1;
  }
  for (size_t i = 0; i < size; ++i) push(i);
  std::vector<bool> is_gone(size, false);
  while (!queue.empty()) {
    const auto [rank, at] = queue.top();
    queue.pop();
    if (is_gone[at] || next[at] == kNone) continue;
    const size_t right = next[at];
    const Slot& slot = find(tokens[at], tokens[right]);
    if (slot.rank != rank) continue;  // one of the two has been merged with another since
    tokens[at] = slot.merged;
    is_gone[right] = true;
    next[at] = next[right];
    if (next[at] != kNone) previous[next[at]] = at;
    push(previous[at]);
    push(at);
  }
  size_t kept = 0;
  for (size_t at = 0; at != kNone; at = next[at]) tokens[kept++] = tokens[at];
  tokens.resize(kept);
}

}  // namespace levin
