#include "trainer/core/files/safetensors.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>

#include "trainer/core/error.h"
#include "trainer/core/files/safetensors_header.h"

namespace levin {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of Hugging Face's own reader

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& problem) {
  throw CheckpointError(fmt::format("[Safetensors] {}: {}.", file.string(), problem));
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path path) : path_(std::move(path)), file_(open_for_reading(path_)) {
  const uint64_t num_file_bytes = file_size(file_, path_);
  uint64_t num_header_bytes = 0;
  if (num_file_bytes < sizeof(num_header_bytes)) {
    refuse(path_, fmt::format("the file has {} bytes, too few for the length of the header", num_file_bytes));
  }
  read_at(file_, path_, 0, &num_header_bytes, sizeof(num_header_bytes));
  const uint64_t num_bytes_left = num_file_bytes - sizeof(num_header_bytes);
  if (num_header_bytes > num_bytes_left) {
    refuse(path_, fmt::format("the header should have {} bytes, but the file ends after {}", num_header_bytes,
                              num_bytes_left));
  }
  if (num_header_bytes > kMaxHeaderBytes) {
    refuse(path_, fmt::format("the header has {} bytes, more than {}", num_header_bytes, kMaxHeaderBytes));
  }
  std::string text(num_header_bytes, '\0');
  read_at(file_, path_, sizeof(num_header_bytes), text.data(), text.size());
  if (!text.starts_with('{')) refuse(path_, "the header does not begin with '{'");

  const uint64_t data_begin = sizeof(num_header_bytes) + num_header_bytes;
  SafetensorsHeader header = parse_safetensors_header(text, path_, data_begin, num_file_bytes);
  entries_ = std::move(header.entries);
  metadata_ = std::move(header.metadata);
  for (size_t i = 0; i < entries_.size(); ++i) index_of_[entries_[i].name] = i;
}

bool SafetensorsFile::contains(std::string_view name) const { return index_of_.contains(std::string(name)); }

const SafetensorsEntry& SafetensorsFile::entry(std::string_view name) const {
  const auto found = index_of_.find(std::string(name));
  if (found == index_of_.end()) refuse(path_, fmt::format("there is no tensor \"{}\"", name));
  return entries_[found->second];
}

at::Tensor SafetensorsFile::read(const SafetensorsEntry& entry) const {
  at::Tensor tensor = at::empty(entry.shape, at::TensorOptions(at::kCPU).dtype(entry.dtype));
  const uint64_t num_bytes = entry.end - entry.begin;
  read_at(file_, path_, entry.begin, tensor.mutable_data_ptr(), num_bytes);
  if (entry.dtype == at::kBool) {
    const auto* bytes = static_cast<const uint8_t*>(tensor.const_data_ptr());
    const auto* wrong = std::find_if(bytes, bytes + num_bytes, [](uint8_t byte) { return byte > 1; });
    if (wrong != bytes + num_bytes) {
      refuse(path_, fmt::format("the tensor \"{}\": element {} of a BOOL must be 0 or 1, got {}", entry.name,
                                wrong - bytes, *wrong));
    }
  }
  return tensor;
}

NamedTensors read_safetensors(const std::filesystem::path& file) {
  const SafetensorsFile opened(file);
  NamedTensors tensors;
  tensors.reserve(opened.entries().size());
  for (const SafetensorsEntry& entry : opened.entries()) tensors.emplace_back(entry.name, opened.read(entry));
  return tensors;
}

}  // namespace levin
