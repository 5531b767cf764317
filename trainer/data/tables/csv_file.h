#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "trainer/data/gzip_file.h"

namespace levin {

/// Reads the records of a CSV file (RFC 4180), gzip-compressed or not, front to back, in memory of one record's size.
///
/// A field in double quotes may hold separators, line ends, and quotes that are doubled. Lines end with \n or \r\n.
/// Empty lines and a UTF-8 byte order mark are passed over. A quote within a field that does not begin with one is
/// text.
class CsvFile {
 public:
  /// Errors: ConfigError if the separator is a quote or a line end; DataError if the file cannot be opened.
  explicit CsvFile(const std::filesystem::path& path, char separator = ',');

  /// The fields of the next record, valid until the next call; false at the end of the file. Errors: DataError that
  /// names file and line if a quoted field has no end, or text after its closing quote, or the file is damaged.
  bool next(std::vector<std::string_view>& fields);
  /// Where the last record begins, from 1.
  int64_t line() const { return line_; }

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  /// Where a field lies in the buffer.
  struct Span {
    size_t begin = 0;
    size_t end = 0;
    bool has_doubled_quotes = false;
  };
  enum class Scan { kField, kRecord, kNeedsMore };

  /// Reads more of the file behind what is in the buffer; false at its end.
  bool fill();
  /// Finds the fields of the record at begin_; false if it goes on behind the buffer.
  bool scan_record();
  Scan scan_field(size_t& position);
  Scan scan_quoted(size_t& position);
  /// After a field's last character: what follows it?
  Scan end_field(size_t& position, Span span);
  /// Removes each second of two quotes, in place.
  std::string_view unquote(const Span& span);
  [[noreturn]] void refuse(size_t position, const char* problem) const;

  GzipFile file_;
  char separator_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of what is not read yet
  size_t end_ = 0;    // of what is in the buffer
  bool is_at_end_ = false;
  int64_t line_ = 1;
  int64_t next_line_ = 1;
  std::vector<Span> spans_;
};

}  // namespace levin
