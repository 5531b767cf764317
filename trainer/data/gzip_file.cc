#include "trainer/data/gzip_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr size_t kTrailerBytes = 8;  // of gzip: check sum and length
constexpr unsigned kBufferBytes = 1u << 18;
constexpr size_t kLargestRead = size_t{1} << 30;  // gzread takes an unsigned int

gzFile handle(void* file) { return static_cast<gzFile>(file); }

}  // namespace

GzipFile::GzipFile(const std::filesystem::path& path) : path_(path), file_(nullptr) {
  if (std::filesystem::is_directory(path)) {
    throw DataError(fmt::format("[GzipFile] {} is a folder, not a file.", path.string()));
  }
  errno = 0;
  file_ = gzopen(path.c_str(), "rb");
  if (file_ == nullptr) {
    throw DataError(fmt::format("[GzipFile] cannot open {}: {}.", path.string(), std::strerror(errno)));
  }
  gzbuffer(handle(file_), kBufferBytes);
}

GzipFile::~GzipFile() { gzclose(handle(file_)); }

/// ": " and what zlib says of its last error, or nothing.
std::string GzipFile::reason() const {
  int code = Z_OK;
  std::string text = gzerror(handle(file_), &code);
  if (code == Z_OK || code == Z_STREAM_END) return {};
  if (code == Z_ERRNO) return fmt::format(": {}", std::strerror(errno));
  const std::string prefix = path_.string() + ": ";  // zlib repeats the path
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return ": " + text;
}

void GzipFile::throw_incomplete(const std::string& what, size_t expected, size_t got) const {
  throw DataError(
      fmt::format("[GzipFile] {} is cut off or damaged: {} should be {} bytes, but only {} could be read{}.",
                  path_.string(), what, expected, got, reason()));
}

void GzipFile::throw_damaged() const {
  throw DataError(fmt::format("[GzipFile] {} is cut off or damaged, after {} bytes of its data{}.", path_.string(),
                              gztell(handle(file_)), reason()));
}

void GzipFile::read(void* destination, size_t size, const std::string& what) {
  auto* out = static_cast<char*>(destination);
  size_t done = 0;
  while (done < size) {
    const auto wanted = static_cast<unsigned>(std::min(size - done, kLargestRead));
    const int got = gzread(handle(file_), out + done, wanted);
    if (got <= 0) throw_incomplete(what, size, done);
    done += static_cast<size_t>(got);
  }
}

size_t GzipFile::read_some(void* destination, size_t size) {
  auto* out = static_cast<char*>(destination);
  size_t done = 0;
  while (done < size) {
    const auto wanted = static_cast<unsigned>(std::min(size - done, kLargestRead));
    const int got = gzread(handle(file_), out + done, wanted);
    // At a cut zlib delivers what it has, but keeps an error.
    int code = Z_OK;
    gzerror(handle(file_), &code);
    if (got < 0 || code == Z_BUF_ERROR) throw_damaged();
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

bool GzipFile::at_end() {
  char extra = 0;
  const int got = gzread(handle(file_), &extra, 1);
  // At a cut within the trailer zlib reports no bytes as at a whole end, but keeps an error.
  int code = Z_OK;
  gzerror(handle(file_), &code);
  if (got < 0 || code == Z_BUF_ERROR) throw_incomplete("the end of the file", kTrailerBytes, 0);
  return got == 0;
}

void GzipFile::seek(int64_t offset) {
  if (gzseek(handle(file_), offset, SEEK_SET) < 0) throw_damaged();
}

int64_t GzipFile::disk_bytes() const { return std::max<int64_t>(0, gzoffset(handle(file_))); }

bool GzipFile::is_compressed() { return gzdirect(handle(file_)) == 0; }

}  // namespace levin
