#include "trainer/data/subset_dataset.h"

#include <fmt/format.h>

#include <utility>

#include "trainer/core/error.h"

namespace levin {

SubsetDataset::SubsetDataset(std::shared_ptr<const Dataset> dataset, std::vector<int64_t> indices)
    : dataset_(std::move(dataset)), indices_(std::move(indices)) {
  const int64_t size = dataset_->size();
  for (size_t i = 0; i < indices_.size(); ++i) {
    if (indices_[i] < 0 || indices_[i] >= size) {
      throw DataError(
          fmt::format("[SubsetDataset] an index must be in [0, {}), the samples of the dataset, got {} at "
                      "position {}.",
                      size, indices_[i], i));
    }
  }
}

std::vector<int64_t> SubsetDataset::translate(std::span<const int64_t> indices) const {
  std::vector<int64_t> result;
  result.reserve(indices.size());
  for (const int64_t index : indices) result.push_back(indices_[static_cast<size_t>(index)]);
  return result;
}

Batch SubsetDataset::get_batch(std::span<const int64_t> indices, const SampleRandom& random) const {
  return dataset_->get_batch(translate(indices), random);
}

std::vector<Batch> SubsetDataset::get_samples(std::span<const int64_t> indices, const SampleRandom& random) const {
  return dataset_->get_samples(translate(indices), random);
}

}  // namespace levin
