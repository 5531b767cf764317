#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>

#include "trainer/data/dataset.h"
#include "trainer/data/transforms/transform.h"

namespace levin {

/// What a TransformedDataset transforms.
struct TransformedDatasetOptions {
  /// Where the images are in a batch: the number of an item of its list, or the name of a field. A batch that is one
  /// tensor has it at 0.
  std::variant<size_t, std::string> leaf = size_t{0};
  /// The dataset's images differ in size. Then they are transformed one by one up to the last transform that gives them
  /// one size, stacked there, and transformed together from there on. False: they are a batch from the start, which is
  /// much faster for small images.
  bool has_different_sizes = false;
};

/// A dataset whose images are transformed. Random transforms draw anew each epoch; what a sample gets depends on the
/// run's seed, the epoch and the sample's index alone.
class TransformedDataset final : public Dataset {
 public:
  /// Errors: ConfigError if has_different_sizes is set and no transform gives the images one size.
  TransformedDataset(std::shared_ptr<const Dataset> dataset, Transforms transforms,
                     TransformedDatasetOptions options = {});

  int64_t size() const override { return dataset_->size(); }
  /// Errors: DataError if the batch has no such leaf or it is not [B, C, H, W], and of the dataset and the transforms.
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override;

 private:
  Batch get_stacked(std::span<const int64_t> indices, const SampleRandom& random) const;

  std::shared_ptr<const Dataset> dataset_;
  Transforms transforms_;
  TransformedDatasetOptions options_;
  size_t num_before_stacking_ = 0;
};

}  // namespace levin
