#include "trainer/data/tokens/token_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

static_assert(std::endian::native == std::endian::little, "a token file is little-endian");

// Of fixed size, so that the compiler makes vector instructions of the loops at every optimisation level.
constexpr size_t kBlock = 32;

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

// Of the machine, in bytes.
uint64_t memory_size() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
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
  map(num_bytes);
}

TokenFile::~TokenFile() {
  const auto num_bytes = static_cast<size_t>(size_ * token_size(type_));
  ::munmap(const_cast<std::byte*>(data_), num_bytes);
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

void TokenFile::map(uint64_t num_bytes) {
  void* data = ::mmap(nullptr, num_bytes, PROT_READ, MAP_SHARED, file_.get(), 0);
  if (data == MAP_FAILED) {
    throw DataError(fmt::format("[TokenFile] {} of {} bytes cannot be mapped into memory: {}.", path_.string(),
                                num_bytes, std::generic_category().message(errno)));
  }
  // Reading ahead brings a file that fits into memory there soon; of a larger one it reads what is not needed.
  if (num_bytes > memory_size() / 2) ::madvise(data, num_bytes, MADV_RANDOM);  // only a hint
  data_ = static_cast<const std::byte*>(data);
}

void TokenFile::check_range(int64_t begin, int64_t count) const {
  if (begin >= 0 && begin <= size_ && count <= size_ - begin) return;
  throw DataError(fmt::format("[TokenFile] {} has {} tokens, but {} from {} on were asked for.", path_.string(), size_,
                              count, begin));
}

uint32_t TokenFile::read(int64_t begin, std::span<int64_t> tokens) const {
  check_range(begin, static_cast<int64_t>(tokens.size()));
  // The mapping begins at a page, so that the tokens are aligned.
  if (type_ == TokenType::kUint16) {
    return widen(reinterpret_cast<const uint16_t*>(data_) + begin, tokens.size(), tokens.data(), nullptr);
  }
  return widen(reinterpret_cast<const uint32_t*>(data_) + begin, tokens.size(), tokens.data(), nullptr);
}

uint32_t TokenFile::read_shifted(int64_t begin, std::span<int64_t> input, std::span<int64_t> target) const {
  if (input.size() != target.size()) throw InternalError("[TokenFile] input and target must be of one size.");
  check_range(begin, static_cast<int64_t>(input.size()) + 1);
  if (type_ == TokenType::kUint16) {
    return widen(reinterpret_cast<const uint16_t*>(data_) + begin, input.size(), input.data(), target.data());
  }
  return widen(reinterpret_cast<const uint32_t*>(data_) + begin, input.size(), input.data(), target.data());
}

void TokenFile::prefetch(int64_t begin) const {
  // After these lines the processor notices by itself that reading goes on.
  constexpr int64_t kLineBytes = 64;
  constexpr int64_t kNumLines = 8;
  const std::byte* first = data_ + begin * token_size(type_);
  for (int64_t line = 0; line < kNumLines; ++line) __builtin_prefetch(first + line * kLineBytes);
}

void TokenFile::check_is_whole() const {
  const auto expected = static_cast<uint64_t>(size_ * token_size(type_));
  const uint64_t num_bytes = file_size(file_, path_);
  if (num_bytes >= expected) return;
  throw DataError(
      fmt::format("[TokenFile] {} has been cut while it was in use: it had {} bytes, now {}. Write a new "
                  "file and rename it in place of one that is in use.",
                  path_.string(), expected, num_bytes));
}

}  // namespace levin
