#include "trainer/data/transforms/transformed_dataset.h"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/collate.h"

namespace levin {
namespace {

using Change = std::function<at::Tensor(const at::Tensor&)>;

Batch change_item(const Batch& batch, size_t number, const Change& change) {
  if (batch.is_tensor() && number == 0) return change(batch.tensor());
  batch[number];  // throws where there is none
  Batch::Items items = batch.items();
  items[number] = change(items[number].tensor());
  return Batch(std::move(items));
}

Batch change_field(const Batch& batch, const std::string& name, const Change& change) {
  batch[name];  // throws where there is none
  Batch::Fields fields = batch.fields();
  for (auto& [key, value] : fields) {
    if (key == name) value = change(value.tensor());
  }
  return Batch(std::move(fields));
}

Batch change_leaf(const Batch& batch, const std::variant<size_t, std::string>& leaf, const Change& change) {
  if (const size_t* number = std::get_if<size_t>(&leaf)) return change_item(batch, *number, change);
  return change_field(batch, std::get<std::string>(leaf), change);
}

size_t count_before_stacking(const Transforms& transforms) {
  for (size_t end = transforms.size(); end > 0; --end) {
    if (transforms[end - 1]->gives_one_size()) return end;
  }
  throw ConfigError(
      "[TransformedDataset] images that differ in size need a transform that gives them one size, as CenterCrop, "
      "RandomCrop, RandomResizedCrop or Resize to a height and width.");
}

}  // namespace

TransformedDataset::TransformedDataset(std::shared_ptr<const Dataset> dataset, Transforms transforms,
                                       TransformedDatasetOptions options)
    : dataset_(std::move(dataset)), transforms_(std::move(transforms)), options_(std::move(options)) {
  if (options_.has_different_sizes) num_before_stacking_ = count_before_stacking(transforms_);
}

Batch TransformedDataset::get_batch(std::span<const int64_t> indices, const SampleRandom& random) const {
  const Batch batch =
      options_.has_different_sizes ? get_stacked(indices, random) : dataset_->get_batch(indices, random);
  return change_leaf(batch, options_.leaf, [&](const at::Tensor& images) {
    return apply_transforms(transforms_, num_before_stacking_, transforms_.size(), images, indices, random);
  });
}

Batch TransformedDataset::get_stacked(std::span<const int64_t> indices, const SampleRandom& random) const {
  std::vector<Batch> samples;
  samples.reserve(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    // One at a time, so that no more than one image of full size is in memory.
    const std::span<const int64_t> index = indices.subspan(i, 1);
    const Batch sample = dataset_->get_samples(index, random).front();
    try {
      samples.push_back(change_leaf(sample, options_.leaf, [&](const at::Tensor& image) {
        return apply_transforms(transforms_, 0, num_before_stacking_, image.unsqueeze(0), index, random).squeeze(0);
      }));
    } catch (const std::exception& error) {
      throw DataError(fmt::format("[TransformedDataset] sample {}: {}", index.front(), error.what()));
    }
  }
  return stack_samples(samples);
}

}  // namespace levin
