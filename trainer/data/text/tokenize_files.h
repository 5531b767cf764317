#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "trainer/data/text/document_reader.h"
#include "trainer/data/text/tokenizer.h"

namespace levin {

struct TokenizeOptions {
  DocumentOptions documents = {};
  /// Stands after each document; nullopt: nothing does.
  std::optional<uint32_t> end_of_text = std::nullopt;
  /// Threads that encode, beside the calling one, which reads and delivers. At least 1.
  int64_t num_threads = 1;
  /// Text that a thread encodes at a time. Memory: about ten times that for each thread, unless a document has no place
  /// where it may be cut.
  size_t chunk_bytes = size_t{1} << 20;
};

/// What has been done so far.
struct TokenizeProgress {
  int64_t num_files = 0;  ///< Read to their end.
  int64_t num_documents = 0;
  int64_t num_tokens = 0;        ///< With those at the end of documents.
  int64_t num_text_bytes = 0;    ///< Uncompressed, without what lies between documents.
  int64_t disk_bytes = 0;        ///< Of the files, as they lie on the disk.
  int64_t total_disk_bytes = 0;  ///< Of all files.
};

/// Tokenizes the documents of text files. `deliver` gets their tokens in order, in pieces of any size, and
/// `on_progress` what has been done after each; both are called in the calling thread. The tokens are those of
/// encode() of each whole document, for any number of threads.
///
/// Returns what has been done in all. Errors: DataError that names the file if one is missing or damaged; ConfigError
/// if an option is out of range; what the two functions throw, which ends the work.
TokenizeProgress tokenize_files(const Tokenizer& tokenizer, std::span<const std::filesystem::path> files,
                                const TokenizeOptions& options,
                                const std::function<void(std::span<const uint32_t>)>& deliver,
                                const std::function<void(const TokenizeProgress&)>& on_progress = nullptr);

}  // namespace levin
