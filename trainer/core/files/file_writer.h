#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "trainer/core/files/posix_file.h"

namespace levin {

/// What identifies the content of a file.
struct FileDigest {
  uint64_t size = 0;         ///< In bytes.
  std::string xxh3_64 = {};  ///< Checksum of the content, 16 lower-case hexadecimal digits (`xxhsum -H3` prints it).
  bool operator==(const FileDigest&) const = default;
};

/// Computes the XXH3 checksum (64 bits, seed 0) of bytes that come in pieces.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void update(const void* data, size_t num_bytes);
  /// 16 lower-case hexadecimal digits.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes one file from front to back and computes its checksum on the way.
///
/// Errors: CheckpointError with the path, the operation and the operating system's reason. After an error the file is
/// incomplete; it is left to the owner of the folder to remove it.
class FileWriter {
 public:
  /// Creates the file, or empties it if it exists.
  explicit FileWriter(std::filesystem::path path);

  void write(const void* data, size_t num_bytes);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  /// Makes the file durable and closes it. Call it once, last; a writer that is destroyed without it leaves an
  /// incomplete file.
  FileDigest finish();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  Checksum checksum_;
  uint64_t size_ = 0;
};

/// Reads a file and computes its digest. Errors: CheckpointError if it is missing or cannot be read.
FileDigest digest_file(const std::filesystem::path& path);

}  // namespace levin
