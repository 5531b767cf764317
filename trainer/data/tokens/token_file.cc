#include "trainer/data/tokens/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

static_assert(std::endian::native == std::endian::little, "a token file is little-endian");

// Of fixed size, so that the compiler makes vector instructions of the loops at every optimisation level.
constexpr size_t kBlock = 32;
// Tokens of one call to the operating system; they fit into the processor's first cache.
constexpr size_t kReadSize = 2048;

template <class Token>
void widen_block(const Token* source, int64_t* target) {
  for (size_t i = 0; i < kBlock; ++i) target[i] = source[i];
}

template <class Token>
Token largest_of_block(const Token* source, Token largest) {
  for (size_t i = 0; i < kBlock; ++i) largest = std::max(largest, source[i]);
  return largest;
}

/// Copies `count` tokens to `target`, if it is given, those one further on to `shifted`. Returns the largest.
template <class Token>
uint32_t widen(const Token* source, size_t count, int64_t* target, int64_t* shifted) {
  Token largest = 0;
  size_t at = 0;
  for (; at + kBlock <= count; at += kBlock) {
    widen_block(source + at, target + at);
    if (shifted != nullptr) widen_block(source + at + 1, shifted + at);
    largest = largest_of_block(source + at, largest);
  }
  for (; at < count; ++at) {
    target[at] = source[at];
    if (shifted != nullptr) shifted[at] = source[at + 1];
    largest = std::max(largest, source[at]);
  }
  return shifted != nullptr && count > 0 ? std::max(largest, source[count]) : largest;
}

FileDescriptor open_token_file(const std::filesystem::path& path) {
  try {
    return open_for_reading(path);
  } catch (const CheckpointError& error) {
    throw DataError(
        fmt::format("[TokenFile] {} cannot be opened: {} Check the path; `levin tokenize` makes such files "
                    "of text.",
                    path.string(), error.what()));
  }
}

}  // namespace

TokenFile::TokenFile(std::filesystem::path path, std::optional<TokenType> type)
    : path_(std::move(path)), file_(open_token_file(path_)), info_(read_token_file_info(path_)) {
  type_ = choose_type(type);
  const uint64_t num_bytes = file_size(file_, path_);
  const auto bytes_per_token = static_cast<uint64_t>(token_size(type_));
  if (num_bytes == 0) throw DataError(fmt::format("[TokenFile] {} must have tokens, but is empty.", path_.string()));
  if (num_bytes % bytes_per_token != 0) {
    throw DataError(
        fmt::format("[TokenFile] {} must be a whole number of {} tokens of {} bytes, got {} bytes. Is it cut off, or "
                    "of another type?",
                    path_.string(), token_type_name(type_), bytes_per_token, num_bytes));
  }
  size_ = static_cast<int64_t>(num_bytes / bytes_per_token);
  if (info_ && info_->num_tokens != size_) {
    throw DataError(
        fmt::format("[TokenFile] {} must have the {} tokens that {} names, got {}. Is it cut off? Write "
                    "both anew, or remove the side file if it belongs to another file.",
                    path_.string(), info_->num_tokens, token_file_info_path(path_).string(), size_));
  }
}

TokenType TokenFile::choose_type(std::optional<TokenType> given) const {
  if (info_ && given && info_->type != *given) {
    throw DataError(fmt::format(
        "[TokenFile] {} must have the type that {} names, which is {}, got {}. Leave the type "
        "out.",
        path_.string(), token_file_info_path(path_).string(), token_type_name(info_->type), token_type_name(*given)));
  }
  if (info_) return info_->type;
  if (given) return *given;
  throw DataError(
      fmt::format("[TokenFile] the type of {} must be known, but there is no {}. Give the type, uint16 or "
                  "uint32.",
                  path_.string(), token_file_info_path(path_).string()));
}

void TokenFile::check_range(int64_t begin, int64_t count) const {
  if (begin >= 0 && begin <= size_ && count <= size_ - begin) return;
  throw DataError(fmt::format("[TokenFile] {} has {} tokens, but {} from {} on were asked for.", path_.string(), size_,
                              count, begin));
}

void TokenFile::read_bytes(uint64_t offset, void* data, size_t num_bytes) const {
  try {
    read_at(file_, path_, offset, data, num_bytes);
  } catch (const CheckpointError& error) {
    const auto expected = static_cast<uint64_t>(size_ * token_size(type_));
    const uint64_t now = file_size(file_, path_);
    if (now >= expected)
      throw DataError(fmt::format("[TokenFile] {} cannot be read: {}", path_.string(), error.what()));
    throw DataError(
        fmt::format("[TokenFile] {} has been cut while it was in use: it had {} bytes, now {}. Write a new file and "
                    "rename it in place of one that is in use.",
                    path_.string(), expected, now));
  }
}

template <class Token>
uint32_t TokenFile::read_blocks(int64_t begin, size_t count, int64_t* target, int64_t* shifted) const {
  std::array<Token, kReadSize + 1> tokens;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
  const size_t num_further = shifted != nullptr ? 1 : 0;
  uint32_t largest = 0;
  for (size_t at = 0; at < count; at += kReadSize) {
    const size_t num = std::min(kReadSize, count - at);
    read_bytes((static_cast<uint64_t>(begin) + at) * sizeof(Token), tokens.data(), (num + num_further) * sizeof(Token));
    largest = std::max(largest, widen(tokens.data(), num, target + at, shifted != nullptr ? shifted + at : nullptr));
  }
  return largest;
}

uint32_t TokenFile::read(int64_t begin, std::span<int64_t> tokens) const {
  check_range(begin, static_cast<int64_t>(tokens.size()));
  return type_ == TokenType::kUint16 ? read_blocks<uint16_t>(begin, tokens.size(), tokens.data(), nullptr)
                                     : read_blocks<uint32_t>(begin, tokens.size(), tokens.data(), nullptr);
}

uint32_t TokenFile::read_shifted(int64_t begin, std::span<int64_t> input, std::span<int64_t> target) const {
  if (input.size() != target.size()) throw InternalError("[TokenFile] input and target must be of one size.");
  check_range(begin, static_cast<int64_t>(input.size()) + 1);
  return type_ == TokenType::kUint16 ? read_blocks<uint16_t>(begin, input.size(), input.data(), target.data())
                                     : read_blocks<uint32_t>(begin, input.size(), input.data(), target.data());
}

}  // namespace levin
