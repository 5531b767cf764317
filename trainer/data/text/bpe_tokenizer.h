#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "trainer/data/text/added_tokens.h"
#include "trainer/data/text/bpe_merges.h"
#include "trainer/data/text/split_pattern.h"
#include "trainer/data/text/tokenizer.h"

namespace levin {

/// Byte-level byte-pair encoding, as of GPT-2, Llama 3 and Qwen 2, from a Hugging Face tokenizer.json. The tokens are
/// those of its encode(text, add_special_tokens=False): post_processor, truncation and padding have no effect.
///
/// Added tokens are recognised in the text, special ones too: a text that has "<|endoftext|>" in it gets that token.
/// Bytes that are no UTF-8 become the tokens of these bytes, each by itself, so that decode(encode(text)) = text for
/// any text (with the normalizer NFC: the normalized text; with add_prefix_space: the text with its space).
class BpeTokenizer final : public Tokenizer {
 public:
  /// Errors: DataError that names the file, the field and its value, if the file cannot be read or asks for something
  /// that is not supported.
  explicit BpeTokenizer(const std::filesystem::path& path);
  ~BpeTokenizer() override;

  std::vector<uint32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const uint32_t> tokens) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(texts_.size()); }
  /// The added token "<|endoftext|>", "<|end_of_text|>", "</s>" or "<eos>".
  std::optional<uint32_t> end_of_text() const override;
  /// Added tokens.
  std::optional<uint32_t> find_token(std::string_view text) const override;
  /// Name and checksum of the file.
  std::string name() const override { return name_; }
  /// Before a space that follows other text, or after a line's end between other text; none with split patterns other
  /// than those of GPT-2, Llama 3 and Qwen 2, or if an added token has such a place.
  size_t find_cut(std::string_view text) const override;

 private:
  class Worker;

  /// Finds whether find_cut() may give a place.
  bool has_cuts(const std::string& split_pattern) const;
  std::unique_ptr<Worker> take_worker() const;

  std::string name_;
  std::optional<SplitPattern> pattern_;
  std::optional<BpeMerges> merges_;
  bool adds_prefix_space_ = false;
  bool uses_nfc_ = false;
  bool has_cuts_ = false;
  std::array<uint32_t, 256> byte_tokens_{};
  std::unordered_map<std::string, uint32_t> whole_pieces_;  // tokens that need no merging; empty without ignore_merges
  std::vector<AddedToken> added_tokens_;
  AddedTokenFinder raw_tokens_;         // looked for in the text
  AddedTokenFinder normalized_tokens_;  // looked for in the normalized text
  std::vector<std::string> texts_;      // of each token; "" if there is none of this number

  // What is needed while encoding, with a cache of pieces; as many as threads have been encoding at a time.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Worker>> idle_workers_;
};

}  // namespace levin
