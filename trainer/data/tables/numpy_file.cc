#include "trainer/data/tables/numpy_file.h"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "trainer/core/error.h"
#include "trainer/data/tables/mapped_file.h"
#include "trainer/data/tables/numpy_header.h"

namespace levin {
namespace {

std::vector<int64_t> strides_of(const NumpyHeader& header) {
  const size_t num_dims = header.shape.size();
  std::vector<int64_t> strides(num_dims);
  int64_t stride = 1;
  for (size_t i = 0; i < num_dims; ++i) {
    const size_t dim = header.is_fortran_order ? i : num_dims - 1 - i;
    strides[dim] = stride;
    stride *= std::max<int64_t>(header.shape[dim], 1);
  }
  return strides;
}

void check_size(const MappedFile& file, const NumpyHeader& header) {
  const uint64_t got = file.size() - header.data_begin;
  if (got == header.data_size) return;
  throw DataError(fmt::format(
      "[read_numpy] {}: the data of shape [{}] should have {} bytes, but {}.", file.path().string(),
      fmt::join(header.shape, ", "), header.data_size,
      got < header.data_size ? fmt::format("the file ends after {}", got) : fmt::format("the file has {}", got)));
}

void check_bools(const MappedFile& file, const NumpyHeader& header) {
  const std::string_view data = file.bytes().substr(header.data_begin);
  const auto wrong = std::ranges::find_if(data, [](char byte) { return byte != 0 && byte != 1; });
  if (wrong == data.end()) return;
  throw DataError(fmt::format("[read_numpy] {}: element {} of a bool must be 0 or 1, got {}.", file.path().string(),
                              wrong - data.begin(), static_cast<unsigned char>(*wrong)));
}

at::Tensor swap_bytes(const MappedFile& file, const NumpyHeader& header) {
  at::Tensor tensor =
      at::empty_strided(header.shape, strides_of(header), at::TensorOptions(at::kCPU).dtype(header.dtype));
  // The two halves of a complex number are swapped each by itself.
  const size_t width = c10::elementSize(header.dtype) / (c10::isComplexType(header.dtype) ? 2 : 1);
  const char* source = file.data() + header.data_begin;
  auto* target = static_cast<char*>(tensor.mutable_data_ptr());
  for (size_t begin = 0; begin < header.data_size; begin += width) {
    std::reverse_copy(source + begin, source + begin + width, target + begin);
  }
  return tensor;
}

}  // namespace

at::Tensor read_numpy(const std::filesystem::path& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  const NumpyHeader header = parse_numpy_header(file->bytes(), path);
  check_size(*file, header);
  if (header.dtype == at::kBool) check_bools(*file, header);
  if (header.is_big_endian) return swap_bytes(*file, header);
  return map_tensor(file, header.data_begin, header.shape, strides_of(header), header.dtype);
}

}  // namespace levin
