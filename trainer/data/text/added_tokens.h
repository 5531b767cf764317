#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace levin {

/// A token that is recognised in the text as it stands, such as "<|endoftext|>".
struct AddedToken {
  std::string content = {};
  uint32_t id = 0;
  /// Looked for after the text has been normalized, in what the others leave.
  bool is_normalized = false;
};

/// Finds added tokens in text: the first that begins, and of those that begin there the longest.
class AddedTokenFinder {
 public:
  struct Found {
    size_t begin = 0;
    size_t end = 0;
    uint32_t id = 0;
  };

  void add(std::string_view content, uint32_t id);
  bool empty() const { return ids_.size() == 1; }
  /// The first one from `position` on.
  std::optional<Found> find(std::string_view text, size_t position) const;

 private:
  std::optional<Found> match_at(std::string_view text, size_t begin) const;

  // A trie: node 0 is its root. A node's child by a byte is at (node << 8 | byte).
  std::unordered_map<uint64_t, uint32_t> children_;
  std::vector<std::optional<uint32_t>> ids_ = {std::nullopt};
  std::array<bool, 256> is_first_{};
};

}  // namespace levin
