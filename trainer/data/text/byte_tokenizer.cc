#include "trainer/data/text/byte_tokenizer.h"

#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {
namespace {

uint32_t value_of(char byte) { return static_cast<unsigned char>(byte); }

}  // namespace

std::vector<uint32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<uint32_t> tokens(text.size());
  for (size_t i = 0; i < text.size(); ++i) tokens[i] = value_of(text[i]);
  return tokens;
}

std::string ByteTokenizer::decode(std::span<const uint32_t> tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (const uint32_t token : tokens) {
    if (token > kEndOfText) {
      throw DataError(fmt::format("[ByteTokenizer] a token must be in [0, {}], got {}.", kEndOfText, token));
    }
    if (token != kEndOfText) text.push_back(static_cast<char>(token));
  }
  return text;
}

std::optional<uint32_t> ByteTokenizer::find_token(std::string_view text) const {
  return text.size() == 1 ? std::optional(value_of(text[0])) : std::nullopt;
}

}  // namespace levin
