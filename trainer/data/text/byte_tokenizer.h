#pragma once

#include "trainer/data/text/tokenizer.h"

namespace levin {

/// A token for each byte: 0 to 255, and 256 for the end of text. Needs no file and knows every text.
class ByteTokenizer final : public Tokenizer {
 public:
  static constexpr uint32_t kEndOfText = 256;

  std::vector<uint32_t> encode(std::string_view text) const override;
  /// The end of text has no bytes.
  std::string decode(std::span<const uint32_t> tokens) const override;
  int64_t vocab_size() const override { return kEndOfText + 1; }
  std::optional<uint32_t> end_of_text() const override { return kEndOfText; }
  /// Texts of one byte.
  std::optional<uint32_t> find_token(std::string_view text) const override;
  std::string name() const override { return "bytes"; }
  size_t find_cut(std::string_view text) const override { return text.empty() ? 0 : text.size() - 1; }
};

}  // namespace levin
