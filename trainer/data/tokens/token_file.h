#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "trainer/core/files/posix_file.h"
#include "trainer/data/tokens/token_file_info.h"

namespace levin {

/// A file of raw little-endian tokens, mapped into memory: opening it takes the same time for every size, and what has
/// been read lies in the operating system's page cache, which gives it back where memory is needed. Reading is safe
/// from several threads.
class TokenFile {
 public:
  /// type: how the tokens are stored, for a file without a side file.
  /// Errors: DataError with the path, the values and what to do if the file is missing, empty, or no whole number of
  /// tokens; if there is neither a side file nor a type, or they differ; if the side file is damaged or counts another
  /// number of tokens.
  explicit TokenFile(std::filesystem::path path, std::optional<TokenType> type = std::nullopt);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  TokenType type() const { return type_; }
  /// Number of tokens.
  int64_t size() const { return size_; }
  /// What the side file says, if there is one.
  const std::optional<TokenFileInfo>& info() const { return info_; }

  /// Copies the tokens [begin, begin + tokens.size()), which must be in the file. Returns the largest of them, 0 if
  /// there are none. A file that has been cut since it was opened must not be read: see check_is_whole().
  uint32_t read(int64_t begin, std::span<int64_t> tokens) const;
  /// The same for the tokens [begin, begin + input.size()) and, in `target` of the same size, those one further on.
  uint32_t read_shifted(int64_t begin, std::span<int64_t> input, std::span<int64_t> target) const;
  /// Has the processor fetch the first tokens from `begin` on, which are read soon. Reads nothing itself.
  void prefetch(int64_t begin) const;
  /// Asks the operating system whether the file still has all its tokens. Reading what was cut off a mapped file ends
  /// the process (SIGBUS), so ask before reading. Errors: DataError if it has not.
  void check_is_whole() const;

 private:
  /// Errors: DataError if the tokens are not all in the file.
  void check_range(int64_t begin, int64_t count) const;
  TokenType choose_type(std::optional<TokenType> given) const;
  void map(uint64_t num_bytes);

  std::filesystem::path path_;
  FileDescriptor file_;
  std::optional<TokenFileInfo> info_;
  TokenType type_ = TokenType::kUint16;
  int64_t size_ = 0;
  const std::byte* data_ = nullptr;
};

}  // namespace levin
