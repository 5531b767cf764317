#include "trainer/data/tables/numpy_dataset.h"

#include <fmt/format.h>

#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/tables/numpy_file.h"

namespace levin {
namespace {

Batch read_files(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& names) {
  if (files.empty()) throw ConfigError("[NumpyDataset] there must be at least one file, got none.");
  if (!names.empty() && names.size() != files.size()) {
    throw ConfigError(fmt::format("[NumpyDataset] each file needs a name, or none has one, got {} names for {} files.",
                                  names.size(), files.size()));
  }
  Batch::Items items;
  Batch::Fields fields;
  for (size_t i = 0; i < files.size(); ++i) {
    const at::Tensor tensor = read_numpy(files[i]);
    const auto first = [&] { return names.empty() ? items.front().tensor() : fields.front().second.tensor(); };
    if (tensor.dim() == 0) {
      throw DataError(fmt::format("[NumpyDataset] {}: the array must be [N, ...], one row a sample, got a scalar.",
                                  files[i].string()));
    }
    if (i > 0 && tensor.size(0) != first().size(0)) {
      throw DataError(fmt::format("[NumpyDataset] all files must have as many rows, but {} has {} and {} has {}.",
                                  files.front().string(), first().size(0), files[i].string(), tensor.size(0)));
    }
    if (names.empty()) {
      items.emplace_back(tensor);
    } else {
      fields.emplace_back(names[i], tensor);
    }
  }
  return names.empty() ? Batch(std::move(items)) : Batch(std::move(fields));
}

}  // namespace

NumpyDataset::NumpyDataset(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& names)
    : samples_(read_files(files, names)) {}

}  // namespace levin
