#include "trainer/data/idx_file.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "trainer/core/error.h"
#include "trainer/data/gzip_file.h"

namespace levin {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;

uint32_t read_big_endian(GzipFile& file, const std::string& what) {
  std::array<uint8_t, 4> bytes{};
  file.read(bytes.data(), bytes.size(), what);
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

// The header: two zero bytes, element type, number of dimensions, then one big-endian size a dimension.
std::vector<int64_t> read_shape(GzipFile& file) {
  const uint32_t magic = read_big_endian(file, "the IDX magic number");
  const auto type = static_cast<uint8_t>(magic >> 8);
  const uint32_t num_dims = magic & 0xff;
  if (magic >> 16 != 0 || num_dims == 0) {
    throw DataError(
        fmt::format("[read_idx] {} is not an IDX file: it begins with 0x{:08x}.", file.path().string(), magic));
  }
  if (type != kUnsignedByte) {
    throw DataError(fmt::format("[read_idx] {} must hold unsigned bytes (type 0x08), got type 0x{:02x}.",
                                file.path().string(), type));
  }
  std::vector<int64_t> shape;
  int64_t num_elements = 1;
  for (uint32_t i = 0; i < num_dims; ++i) {
    shape.push_back(read_big_endian(file, fmt::format("the size of dimension {}", i)));
    if (shape.back() != 0 && num_elements > std::numeric_limits<int64_t>::max() / 2 / shape.back()) {
      throw DataError(fmt::format("[read_idx] {} is damaged: its header asks for [{}] bytes.", file.path().string(),
                                  fmt::join(shape, ", ")));
    }
    num_elements *= shape.back();
  }
  return shape;
}

}  // namespace

at::Tensor read_idx(const std::filesystem::path& path) {
  GzipFile file(path);
  const std::vector<int64_t> shape = read_shape(file);
  at::Tensor tensor;
  try {
    tensor = at::empty(shape, at::kByte);
  } catch (const c10::Error&) {
    throw DataError(fmt::format("[read_idx] {} asks for more memory than there is: [{}] bytes. Is it damaged?",
                                path.string(), fmt::join(shape, ", ")));
  }
  file.read(tensor.data_ptr(), tensor.nbytes(), fmt::format("the data of shape [{}]", fmt::join(shape, ", ")));
  if (!file.at_end()) {
    throw DataError(fmt::format("[read_idx] {} is damaged: there is data after the [{}] bytes that its header names.",
                                path.string(), fmt::join(shape, ", ")));
  }
  return tensor;
}

}  // namespace levin
