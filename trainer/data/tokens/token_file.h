#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "trainer/core/files/posix_file.h"
#include "trainer/data/tokens/token_file_info.h"

namespace levin {

/// A file of raw little-endian tokens, of which only what is asked for is read: opening it takes the same time for
/// every size, and what has been read stays in the operating system's page cache, not in the process. (A mapping would
/// count as the process's memory, page by page, until all of the file did, and a file that is cut would end the
/// process.) Reading is safe from several threads.
class TokenFile {
 public:
  /// type: how the tokens are stored, for a file without a side file.
  /// Errors: DataError with the path, the values and what to do if the file is missing, empty, or no whole number of
  /// tokens; if there is neither a side file nor a type, or they differ; if the side file is damaged or counts another
  /// number of tokens.
  explicit TokenFile(std::filesystem::path path, std::optional<TokenType> type = std::nullopt);

  const std::filesystem::path& path() const { return path_; }
  TokenType type() const { return type_; }
  /// Number of tokens.
  int64_t size() const { return size_; }
  /// What the side file says, if there is one.
  const std::optional<TokenFileInfo>& info() const { return info_; }

  /// Copies the tokens [begin, begin + tokens.size()). Returns the largest of them, 0 if there are none.
  /// Errors: DataError if they are not all in the file, it has been cut since it was opened, or reading fails.
  uint32_t read(int64_t begin, std::span<int64_t> tokens) const;
  /// The same for the tokens [begin, begin + input.size()) and, in `target` of the same size, those one further on.
  uint32_t read_shifted(int64_t begin, std::span<int64_t> input, std::span<int64_t> target) const;

 private:
  /// Errors: DataError if the tokens are not all in the file.
  void check_range(int64_t begin, int64_t count) const;
  TokenType choose_type(std::optional<TokenType> given) const;
  /// `shifted` may be nullptr.
  template <class Token>
  uint32_t read_blocks(int64_t begin, size_t count, int64_t* target, int64_t* shifted) const;
  void read_bytes(uint64_t offset, void* data, size_t num_bytes) const;

  std::filesystem::path path_;
  FileDescriptor file_;
  std::optional<TokenFileInfo> info_;
  TokenType type_ = TokenType::kUint16;
  int64_t size_ = 0;
};

}  // namespace levin
