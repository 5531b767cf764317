#include "callbacks/loggers/log_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr size_t kMaxWaiting = 65536;  // bytes

std::filesystem::path temporary_of(const std::filesystem::path& path) { return path.string() + ".tmp"; }

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

LogFile::LogFile(std::string owner, double flush_seconds) : owner_(std::move(owner)), flush_interval_(flush_seconds) {}

LogFile::~LogFile() {
  try {
    flush();
  } catch (const std::exception&) {
    // Nobody is left to tell.
  }
  if (fd_ >= 0) ::close(fd_);
}

void LogFile::open(const std::filesystem::path& path) {
  close();
  path_ = path;
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  struct stat status {};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) fail("open");
  ::unlink(temporary_of(path_).c_str());  // of a replace() that a kill cut short
  written_ = status.st_size;
  last_write_ = std::chrono::steady_clock::now();
}

void LogFile::close() {
  if (fd_ < 0) return;
  flush();
  ::close(std::exchange(fd_, -1));
  written_ = 0;
}

void LogFile::append(std::string_view bytes) {
  waiting_ += bytes;
  if (waiting_.size() >= kMaxWaiting || std::chrono::steady_clock::now() - last_write_ >= flush_interval_) flush();
}

void LogFile::flush() {
  if (waiting_.empty()) return;
  if (!write_all(fd_, waiting_)) {
    const int error = errno;
    // Drops the part that was written. Should this fail too, a torn end is mended when the log is opened again.
    [[maybe_unused]] const int result = ::ftruncate(fd_, written_);
    errno = error;
    fail("write");
  }
  written_ = size();
  waiting_.clear();
  last_write_ = std::chrono::steady_clock::now();
}

void LogFile::truncate(int64_t size) {
  if (size >= this->size()) return;
  waiting_.resize(static_cast<size_t>(std::max<int64_t>(size - written_, 0)));
  if (size >= written_) return;
  if (::ftruncate(fd_, size) != 0) fail("shorten");
  written_ = size;
}

void LogFile::replace(std::string_view content) {
  const std::filesystem::path temporary = temporary_of(path_);
  const int fd = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) fail("rewrite");
  // Without fsync a machine that stops could leave the new name with nothing behind it.
  if (!write_all(fd, content) || ::fsync(fd) != 0 || ::rename(temporary.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::close(fd);
    ::unlink(temporary.c_str());
    errno = error;
    fail("rewrite");
  }
  ::close(std::exchange(fd_, fd));
  written_ = static_cast<int64_t>(content.size());
  waiting_.clear();
}

std::string LogFile::read() { return read_at(0, static_cast<size_t>(written_)) + waiting_; }

bool LogFile::is_line_start(int64_t offset) {
  if (offset <= 0) return offset == 0;
  if (offset > size()) return false;
  if (offset > written_) return waiting_[static_cast<size_t>(offset - 1 - written_)] == '\n';
  return read_at(offset - 1, 1) == "\n";
}

std::string LogFile::read_at(int64_t offset, size_t count) const {
  std::string text(count, '\0');
  size_t done = 0;
  while (done < count) {
    const ssize_t n = ::pread(fd_, text.data() + done, count - done, offset + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read");
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

void LogFile::fail(const char* action) const {
  throw OutputError(fmt::format("[{}] Cannot {} {}: {}.", owner_, action, path_.string(), std::strerror(errno)));
}

}  // namespace levin
