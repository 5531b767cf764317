#include "trainer/data/tables/safetensors_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/files/safetensors.h"
#include "trainer/core/nearest_name.h"
#include "trainer/data/tables/mapped_file.h"

namespace levin {
namespace {

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;) strides[dim - 1] = strides[dim] * std::max<int64_t>(shape[dim], 1);
  return strides;
}

std::vector<std::string> names_in(const SafetensorsFile& file) {
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : file.entries()) names.push_back(entry.name);
  return names;
}

at::Tensor map_entry(const SafetensorsFile& file, const std::shared_ptr<const MappedFile>& mapped,
                     const SafetensorsEntry& entry) {
  if (mapped->size() < entry.end) {
    throw DataError(fmt::format("[SafetensorsDataset] {} has been cut while it was opened.", file.path().string()));
  }
  if (entry.dtype == at::kBool) return file.read(entry);  // which checks each byte
  return map_tensor(mapped, entry.begin, entry.shape, contiguous_strides(entry.shape), entry.dtype);
}

Batch map_fields(const std::filesystem::path& path, const std::vector<std::string>& tensors) {
  const SafetensorsFile file(path);
  const auto mapped = std::make_shared<const MappedFile>(path);
  const std::vector<std::string> known = names_in(file);
  if (known.empty()) throw DataError(fmt::format("[SafetensorsDataset] {} has no tensors.", path.string()));
  Batch::Fields fields;
  for (const std::string& name : tensors.empty() ? known : tensors) {
    if (!file.contains(name)) {
      throw DataError(fmt::format("[SafetensorsDataset] {} has no tensor \"{}\"{}.", path.string(), name,
                                  suggest_name(name, known)));
    }
    const SafetensorsEntry& entry = file.entry(name);
    if (entry.shape.empty()) {
      throw DataError(
          fmt::format("[SafetensorsDataset] {}: the tensor \"{}\" must be [N, ...], one row a sample, got "
                      "a scalar.",
                      path.string(), name));
    }
    if (!fields.empty() && entry.shape[0] != fields.front().second.tensor().size(0)) {
      throw DataError(fmt::format(
          "[SafetensorsDataset] {}: all tensors must have as many rows, but \"{}\" has {} and \"{}\" has "
          "{}. Name those that you want.",
          path.string(), fields.front().first, fields.front().second.tensor().size(0), name, entry.shape[0]));
    }
    fields.emplace_back(name, map_entry(file, mapped, entry));
  }
  return Batch(std::move(fields));
}

Batch open_fields(const std::filesystem::path& path, const std::vector<std::string>& tensors) {
  try {
    return map_fields(path, tensors);
  } catch (const CheckpointError& error) {  // the file is data here, no checkpoint
    throw DataError(fmt::format("[SafetensorsDataset] {}", error.what()));
  }
}

}  // namespace

SafetensorsDataset::SafetensorsDataset(const std::filesystem::path& file, const std::vector<std::string>& tensors)
    : samples_(open_fields(file, tensors)) {}

}  // namespace levin
