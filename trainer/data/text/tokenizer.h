#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// Turns text into token numbers and back. All methods may be called from several threads at a time.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The tokens of a whole document, each in [0, vocab_size()). Adds no token that the text does not have, such as one
  /// for its beginning or its end. Any bytes are allowed, also those that are no UTF-8.
  virtual std::vector<uint32_t> encode(std::string_view text) const = 0;
  /// The text of the tokens, byte for byte. Errors: DataError if a token is not in the vocabulary.
  virtual std::string decode(std::span<const uint32_t> tokens) const = 0;

  /// The largest token number that a model may meet, plus one: the rows of its embedding.
  virtual int64_t vocab_size() const = 0;
  /// The token that stands after a document; nullopt if there is none.
  virtual std::optional<uint32_t> end_of_text() const = 0;
  /// The number of the one token whose text is `text`, for example "<|im_end|>"; nullopt if there is none.
  virtual std::optional<uint32_t> find_token(std::string_view text) const = 0;
  /// What identifies the vocabulary: equal names give equal tokens.
  virtual std::string name() const = 0;

  /// A place p in (0, text.size()), as far back as possible, with encode(text up to p) + encode(text from p on) =
  /// encode(text), whatever follows `text`; 0 if none is certain. Long documents are tokenized in parts between them.
  virtual size_t find_cut(std::string_view text) const = 0;
};

/// "bytes" for ByteTokenizer, else the path of a tokenizer.json for BpeTokenizer. Errors: ConfigError if `name` is
/// empty or neither; what BpeTokenizer throws.
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& name);

}  // namespace levin
