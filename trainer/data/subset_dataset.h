#pragma once

#include <memory>
#include <vector>

#include "trainer/data/dataset.h"

namespace levin {

/// Some samples of another dataset, in an order of their own; one may occur several times. Random transforms draw what
/// the sample draws in the whole dataset.
class SubsetDataset final : public Dataset {
 public:
  /// indices: of samples of `dataset`. Errors: DataError if one is outside of [0, dataset->size()).
  SubsetDataset(std::shared_ptr<const Dataset> dataset, std::vector<int64_t> indices);

  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override;
  std::vector<Batch> get_samples(std::span<const int64_t> indices, const SampleRandom& random) const override;

 private:
  std::vector<int64_t> translate(std::span<const int64_t> indices) const;

  std::shared_ptr<const Dataset> dataset_;
  std::vector<int64_t> indices_;
};

}  // namespace levin
