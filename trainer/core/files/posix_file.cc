#include "trainer/core/files/posix_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "trainer/core/error.h"

namespace levin {
namespace {

// Linux moves at most 2 GiB in one call; smaller pieces also keep the process interruptible.
constexpr size_t kMaxBytesPerCall = size_t{1} << 28;

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

void throw_io_error(const char* operation, const std::filesystem::path& path, int error_number) {
  throw CheckpointError(fmt::format("[Checkpoint] cannot {} {}: {} (errno {}).", operation, path.string(),
                                    std::generic_category().message(error_number), error_number));
}

FileDescriptor open_for_reading(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe must not block here
  if (file.get() < 0) throw_io_error("open", path, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) throw_io_error("examine", path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw CheckpointError(fmt::format("[Checkpoint] cannot read {}: it is not a regular file.", path.string()));
  }
  return file;
}

uint64_t file_size(const FileDescriptor& file, const std::filesystem::path& path) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) throw_io_error("examine", path, errno);
  return static_cast<uint64_t>(status.st_size);
}

void read_at(const FileDescriptor& file, const std::filesystem::path& path, uint64_t offset, void* data,
             size_t num_bytes) {
  char* target = static_cast<char*>(data);
  while (num_bytes > 0) {
    const ssize_t count =
        ::pread(file.get(), target, std::min(num_bytes, kMaxBytesPerCall), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_io_error("read", path, errno);
    if (count == 0) {
      throw CheckpointError(fmt::format("[Checkpoint] cannot read {}: it ends at byte {}, {} bytes are missing.",
                                        path.string(), offset, num_bytes));
    }
    target += count;
    offset += static_cast<uint64_t>(count);
    num_bytes -= static_cast<size_t>(count);
  }
}

void sync_to_disk(const FileDescriptor& file, const std::filesystem::path& path) {
  while (::fsync(file.get()) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return;
    throw_io_error("sync", path, errno);
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) throw_io_error("open", folder, errno);
  sync_to_disk(opened, folder);
}

void create_folders(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return;
  create_folders(folder.parent_path());
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) throw_io_error("create the folder", folder, errno);
  sync_folder(folder.has_parent_path() ? folder.parent_path() : ".");
}

}  // namespace levin
