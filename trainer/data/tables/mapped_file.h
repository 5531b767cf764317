#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace levin {

/// A file in memory without a copy: a page is read when it is first touched. The mapping is private: writing to its
/// memory changes the copy of this process, never the file. The file must not be cut while it is mapped; reading what
/// is gone ends the process (SIGBUS).
class MappedFile {
 public:
  /// Errors: DataError if the file is missing, is no regular file, or cannot be mapped.
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  size_t size() const { return size_; }
  std::string_view bytes() const { return {data_, size_}; }
  char* data() const { return data_; }

 private:
  std::filesystem::path path_;
  char* data_ = nullptr;
  size_t size_ = 0;
};

/// The tensor whose data begin at byte `begin` of the file, which it keeps mapped; a copy if the data are not aligned
/// for their type. The bytes must lie in the file. strides: of elements.
at::Tensor map_tensor(const std::shared_ptr<const MappedFile>& file, uint64_t begin, at::IntArrayRef shape,
                      at::IntArrayRef strides, at::ScalarType dtype);

}  // namespace levin
