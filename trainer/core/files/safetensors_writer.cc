#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "trainer/core/error.h"
#include "trainer/core/files/safetensors.h"
#include "trainer/core/files/safetensors_dtype.h"

namespace levin {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors stores little-endian bytes");

// Why the tensor cannot be written, or "".
std::string find_obstacle(const at::Tensor& tensor) {
  if (!tensor.defined()) return "it is undefined";
  if (tensor.is_nested() || tensor.layout() != at::kStrided) return "it is not a dense, strided tensor";
  if (!safetensors_name(tensor.scalar_type())) {
    return fmt::format("safetensors has no dtype for {}", c10::toString(tensor.scalar_type()));
  }
  if (tensor.is_meta()) return "it is on the meta device and has no values";
  // const_data_ptr: looking at the memory must not copy a lazily cloned tensor.
  if (tensor.numel() > 0 && tensor.const_data_ptr() == nullptr) return "its memory has been released";
  return "";
}

void check_tensors(const std::filesystem::path& file, const NamedTensors& tensors) {
  std::unordered_set<std::string_view> names;
  const auto refuse = [&](const std::string& name, const std::string& reason) {
    throw CheckpointError(
        fmt::format("[Safetensors] cannot write the tensor \"{}\" to {}: {}.", name, file.string(), reason));
  };
  for (const auto& [name, tensor] : tensors) {
    if (name == "__metadata__") refuse(name, "the format reserves this name");
    if (!names.insert(name).second) refuse(name, "the name occurs twice");
    if (const std::string obstacle = find_obstacle(tensor); !obstacle.empty()) refuse(name, obstacle);
  }
}

uint64_t num_bytes_of(const at::Tensor& tensor) {
  return static_cast<uint64_t>(tensor.numel()) * static_cast<uint64_t>(tensor.element_size());
}

// Indices into `tensors` in the order of their bytes: the largest elements first, so that all are aligned.
std::vector<size_t> order_of_bytes(const NamedTensors& tensors) {
  std::vector<size_t> order(tensors.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tensors[a].second.element_size() > tensors[b].second.element_size();
  });
  return order;
}

nlohmann::ordered_json describe_entry(const at::Tensor& tensor, uint64_t begin) {
  nlohmann::ordered_json entry;
  entry["dtype"] = *safetensors_name(tensor.scalar_type());
  entry["shape"] = tensor.sizes().vec();
  entry["data_offsets"] = {begin, begin + num_bytes_of(tensor)};
  return entry;
}

std::string make_header(const std::filesystem::path& file, const NamedTensors& tensors,
                        const std::vector<size_t>& order, const SafetensorsMetadata& metadata) {
  std::vector<uint64_t> begins(tensors.size());
  uint64_t next_begin = 0;
  for (const size_t i : order) {
    begins[i] = next_begin;
    next_begin += num_bytes_of(tensors[i].second);
  }
  try {
    // Written key by key: nlohmann's ordered object searches all keys at each insertion.
    std::string header = "{";
    const auto append = [&](const std::string& key, const nlohmann::ordered_json& value) {
      if (header.size() > 1) header += ",";
      header += nlohmann::json(key).dump() + ":" + value.dump();
    };
    if (!metadata.empty()) append("__metadata__", metadata);
    for (size_t i = 0; i < tensors.size(); ++i) {
      append(tensors[i].first, describe_entry(tensors[i].second, begins[i]));
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return header;
  } catch (const nlohmann::json::type_error& error) {
    throw CheckpointError(fmt::format("[Safetensors] cannot write {}: a name or a metadata text is not UTF-8: {}",
                                      file.string(), error.what()));
  }
}

void write_checked(FileWriter& writer, const NamedTensors& tensors, const SafetensorsMetadata& metadata) {
  const std::vector<size_t> order = order_of_bytes(tensors);
  const std::string header = make_header(writer.path(), tensors, order, metadata);
  const uint64_t header_size = header.size();
  writer.write(&header_size, sizeof(header_size));
  writer.write(header);
  const c10::AutoGradMode no_grad(false);
  for (const size_t i : order) {
    // Lazy conjugation and negation are flags beside the memory, so they are carried out first.
    const at::Tensor on_cpu = tensors[i].second.detach().cpu().resolve_conj().resolve_neg().contiguous();
    writer.write(on_cpu.const_data_ptr(), num_bytes_of(on_cpu));
  }
}

}  // namespace

void write_safetensors(FileWriter& writer, const NamedTensors& tensors, const SafetensorsMetadata& metadata) {
  check_tensors(writer.path(), tensors);
  write_checked(writer, tensors, metadata);
}

void write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors,
                       const SafetensorsMetadata& metadata) {
  check_tensors(file, tensors);
  FileWriter writer(file);
  write_checked(writer, tensors, metadata);
  writer.finish();
}

}  // namespace levin
