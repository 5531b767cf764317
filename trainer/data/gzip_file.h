#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace levin {

/// Reads a file, gzip-compressed or not. Call from one thread.
class GzipFile {
 public:
  /// Errors: DataError if the file cannot be opened.
  explicit GzipFile(const std::filesystem::path& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  /// Reads exactly `size` bytes. Errors: DataError if the file ends before, or is damaged; it names `what` was read.
  void read(void* destination, size_t size, const std::string& what);
  /// Reads up to `size` bytes; fewer only at the end of the file, then 0. Errors: DataError if the file is damaged.
  size_t read_some(void* destination, size_t size);
  /// True if nothing is left. Errors: DataError if the end is damaged (a wrong check sum).
  bool at_end();

  /// Goes to byte `offset` of the uncompressed data. Compressed files are read up to there, anew if that lies behind.
  /// Errors: DataError.
  void seek(int64_t offset);
  /// Bytes of the file, as it lies on the disk, that have been read.
  int64_t disk_bytes() const;
  /// False for a file without gzip's mark at its beginning, which is read as it is.
  bool is_compressed();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::string reason() const;
  [[noreturn]] void throw_incomplete(const std::string& what, size_t expected, size_t got) const;
  [[noreturn]] void throw_damaged() const;

  std::filesystem::path path_;
  void* file_;  // gzFile
};

}  // namespace levin
