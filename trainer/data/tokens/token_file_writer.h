#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "trainer/data/tokens/token_file_info.h"

namespace levin {

class FileWriter;

/// Writes a token file and its side file. The tokens go to ".<name>.tmp" beside the file; close() makes them durable
/// and gives both files their names. A writer that is not closed leaves nothing behind, and an older file as it was.
/// Not for two writers of one name at a time.
///
/// Errors: OutputError with the path and the system's reason if writing fails.
class TokenFileWriter {
 public:
  /// info: all but num_tokens, which is counted. Errors: ConfigError if vocab_size is negative, or it or end_of_text
  /// does not fit the type.
  TokenFileWriter(std::filesystem::path path, TokenFileInfo info);
  ~TokenFileWriter();
  TokenFileWriter(const TokenFileWriter&) = delete;
  TokenFileWriter& operator=(const TokenFileWriter&) = delete;

  /// Appends tokens. Errors: DataError for a token that the type cannot hold, or that is not below vocab_size where
  /// that is known; nothing of `tokens` is then written.
  void append(std::span<const uint32_t> tokens);
  /// Tokens so far.
  int64_t num_tokens() const { return info_.num_tokens; }
  /// Finishes the file. Call it once, last.
  void close();

 private:
  void flush();
  [[noreturn]] void throw_bad_token(std::span<const uint32_t> tokens, uint64_t limit) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  TokenFileInfo info_;
  std::unique_ptr<FileWriter> file_;  // nullptr once it is closed
  std::vector<std::byte> buffer_;
};

}  // namespace levin
