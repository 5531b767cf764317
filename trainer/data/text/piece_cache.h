#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace levin {

/// Remembers the tokens of short pieces of text; a piece takes the place of another. Natural text repeats most of its
/// pieces, and looking one up is several times faster than merging.
class PieceCache {
 public:
  PieceCache() : entries_(kNumEntries) {}

  /// Appends the tokens of `piece`, and is true, if they are known.
  bool find(std::string_view piece, std::vector<uint32_t>& tokens) const {
    if (piece.size() > kMaxBytes) return false;
    const Entry& entry = entries_[place_of(piece)];
    if (entry.num_bytes != piece.size() || std::memcmp(entry.bytes.data(), piece.data(), piece.size()) != 0)
      return false;
    tokens.insert(tokens.end(), entry.tokens.data(), entry.tokens.data() + entry.num_tokens);
    return true;
  }

  void store(std::string_view piece, std::span<const uint32_t> tokens) {
    if (piece.empty() || piece.size() > kMaxBytes || tokens.size() > kMaxTokens) return;
    Entry& entry = entries_[place_of(piece)];
    entry.num_bytes = static_cast<uint8_t>(piece.size());
    entry.num_tokens = static_cast<uint8_t>(tokens.size());
    std::memcpy(entry.bytes.data(), piece.data(), piece.size());
    std::memcpy(entry.tokens.data(), tokens.data(), tokens.size_bytes());
  }

 private:
  static constexpr size_t kNumEntries = size_t{1} << 15;
  static constexpr size_t kMaxBytes = 30;
  static constexpr size_t kMaxTokens = 8;

  struct alignas(64) Entry {  // a line of the processor's cache
    uint8_t num_bytes = 0;    // 0: empty
    uint8_t num_tokens = 0;
    std::array<char, kMaxBytes> bytes{};
    std::array<uint32_t, kMaxTokens> tokens{};
  };

  static size_t place_of(std::string_view piece) { return std::hash<std::string_view>()(piece) & (kNumEntries - 1); }

  std::vector<Entry> entries_;
};

}  // namespace levin
