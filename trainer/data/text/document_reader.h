#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "trainer/data/gzip_file.h"

namespace levin {

/// Where a document of a text file ends.
enum class DocumentBorder {
  kFile,       ///< A file is a document.
  kLine,       ///< Each line is one, without the "\n" or "\r\n" at its end.
  kSeparator,  ///< At each separator, which belongs to no document.
};

struct DocumentOptions {
  DocumentBorder border = DocumentBorder::kFile;
  std::string separator = {};  ///< Of kSeparator: any text but "".
};

/// The options for a border by name: "file", "line" or "separator".
DocumentOptions document_options(std::string_view border, const std::string& separator);

/// A document, or a part of one.
struct DocumentPart {
  std::string_view text = {};  ///< Valid until the next call. The last part of a document may be empty.
  bool ends_document = true;
};

/// Reads the documents of a text file, gzip-compressed or not, front to back. Documents without text are passed over.
/// Call from one thread. Errors: DataError that names the file if it cannot be read, is cut off or damaged.
class DocumentReader {
 public:
  /// Where a text may be cut, or 0: see Tokenizer::find_cut().
  using FindCut = std::function<size_t(std::string_view)>;

  /// find_cut: cuts documents into parts of about part_bytes bytes, so that memory is bounded; nullptr: documents come
  /// whole. Errors: ConfigError if the separator is empty.
  DocumentReader(const std::filesystem::path& path, DocumentOptions options, FindCut find_cut = nullptr,
                 size_t part_bytes = size_t{1} << 20);

  /// The next document or part; nullopt at the end.
  std::optional<DocumentPart> next();
  /// Bytes of the text, uncompressed, before the next document or part.
  int64_t offset() const { return buffer_offset_ + static_cast<int64_t>(begin_); }
  /// Goes to where offset() was at a document's beginning. Compressed files are read up to there.
  void seek(int64_t offset);
  /// Bytes of the file, as it lies on the disk, that have been read.
  int64_t disk_bytes() const { return file_.disk_bytes(); }

 private:
  /// The end of the document that `rest` begins with, and where the next one begins.
  struct Border {
    size_t end = 0;
    size_t next = 0;
  };

  std::string_view rest() const { return std::string_view(buffer_).substr(begin_); }
  std::optional<Border> find_border();
  std::optional<size_t> find_part_end();
  DocumentPart take(size_t size, size_t next, bool ends_document);
  void read_more();

  DocumentOptions options_;
  GzipFile file_;
  FindCut find_cut_;
  size_t part_bytes_;
  std::string buffer_;         // text that has been read
  int64_t buffer_offset_ = 0;  // where it begins in the file
  size_t begin_ = 0;           // what lies before has been returned
  size_t num_searched_ = 0;    // of rest(), in which no border begins
  size_t next_cut_size_ = 0;   // of rest(), from where on a cut is looked for
  bool is_at_end_ = false;     // of the file
  bool is_in_document_ = false;
};

}  // namespace levin
