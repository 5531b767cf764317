#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// A file that a logger appends to. Appended bytes wait in memory until flush(), until `flush_seconds` have passed
/// since the last write, or until they are 64 KiB; then one write(2) hands them to the system, where a kill of the
/// process cannot reach them. After a failed write the file holds only what was written whole before; the rest goes on
/// waiting.
///
/// Errors of all that touch the file: OutputError, "[<owner>] Cannot <do> <path>: <reason>."
class LogFile {
 public:
  /// `owner`: the logger's name, for error texts. `flush_seconds` >= 0.
  LogFile(std::string owner, double flush_seconds);
  /// Writes what waits; a failure is lost, so call flush() to know.
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  /// Opens the file at its end, or makes it. What an earlier open() left waiting is written first.
  void open(const std::filesystem::path& path);
  void close();
  bool is_open() const { return fd_ >= 0; }
  const std::filesystem::path& path() const { return path_; }

  void append(std::string_view bytes);
  void flush();
  /// Bytes of the file, those in memory too.
  int64_t size() const { return written_ + static_cast<int64_t>(waiting_.size()); }

  /// Drops what is behind the first `size` bytes, in memory or in the file. A larger size changes nothing.
  void truncate(int64_t size);
  /// Puts `content` in the place of the whole file, in one step: a kill leaves the one or the other.
  void replace(std::string_view content);
  /// The whole content.
  std::string read();
  /// True if the byte before `offset` ends a line; also at the start of the file.
  bool is_line_start(int64_t offset);

 private:
  std::string read_at(int64_t offset, size_t count) const;
  [[noreturn]] void fail(const char* action) const;

  std::string owner_;
  std::chrono::duration<double> flush_interval_;
  std::chrono::steady_clock::time_point last_write_;
  std::filesystem::path path_;
  int fd_ = -1;
  int64_t written_ = 0;
  std::string waiting_;
};

}  // namespace levin
