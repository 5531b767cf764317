#include "trainer/data/tables/mapped_file.h"

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/files/posix_file.h"

namespace levin {
namespace {

[[noreturn]] void throw_cannot(const char* operation, const std::filesystem::path& path, int error_number) {
  throw DataError(fmt::format("[MappedFile] cannot {} {}: {}.", operation, path.string(),
                              std::generic_category().message(error_number)));
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe must not block here
  if (file.get() < 0) throw_cannot("open", path_, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) throw_cannot("examine", path_, errno);
  if (!S_ISREG(status.st_mode)) {
    throw DataError(fmt::format("[MappedFile] cannot read {}: it is not a regular file.", path_.string()));
  }
  size_ = static_cast<size_t>(status.st_size);
  if (size_ == 0) return;  // which cannot be mapped
  // Without a reserve, so that a file may be larger than the memory.
  void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (memory == MAP_FAILED) throw_cannot("map", path_, errno);
  data_ = static_cast<char*>(memory);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

at::Tensor map_tensor(const std::shared_ptr<const MappedFile>& file, uint64_t begin, at::IntArrayRef shape,
                      at::IntArrayRef strides, at::ScalarType dtype) {
  char* data = file->data() + begin;
  int64_t num_elements = 1;
  for (const int64_t size : shape) num_elements *= size;
  const size_t element_size = c10::elementSize(dtype);
  const auto options = at::TensorOptions(at::kCPU).dtype(dtype);
  const bool is_aligned = reinterpret_cast<uintptr_t>(data) % element_size == 0;
  if (num_elements > 0 && is_aligned) {
    return at::from_blob(
        data, shape, strides, [file](void* /*data*/) {}, options);
  }
  at::Tensor copy = at::empty_strided(shape, strides, options);
  if (num_elements > 0) {
    std::memcpy(copy.mutable_data_ptr(), data, static_cast<size_t>(num_elements) * element_size);
  }
  return copy;
}

}  // namespace levin
