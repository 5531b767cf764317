#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace levin {

/// Owns a file descriptor of the operating system, or none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }
  /// Gives the descriptor up without closing it.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Throws CheckpointError "cannot <operation> <path>: <text of the error number>".
[[noreturn]] void throw_io_error(const char* operation, const std::filesystem::path& path, int error_number);

/// Opens a regular file for reading. Errors: CheckpointError if it is missing, unreadable or not a regular file.
FileDescriptor open_for_reading(const std::filesystem::path& path);

/// Size of an open file in bytes.
uint64_t file_size(const FileDescriptor& file, const std::filesystem::path& path);

/// Reads `num_bytes` bytes from `offset` on. Errors: CheckpointError if reading fails or the file ends before.
void read_at(const FileDescriptor& file, const std::filesystem::path& path, uint64_t offset, void* data,
             size_t num_bytes);

/// Makes what was written to an open file or folder survive a power cut. Does nothing on filesystems that cannot.
void sync_to_disk(const FileDescriptor& file, const std::filesystem::path& path);

/// Makes the creation, renaming and removal of names in `folder` survive a power cut.
void sync_folder(const std::filesystem::path& folder);

/// Creates `folder` and the folders above it that are missing, each durable.
void create_folders(const std::filesystem::path& folder);

}  // namespace levin
