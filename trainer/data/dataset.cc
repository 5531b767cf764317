#include "trainer/data/dataset.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <fmt/format.h>

#include "trainer/core/error.h"
#include "trainer/data/collate.h"

namespace levin {
namespace {

Batch row_of(const Batch& batch, int64_t row) {
  return batch.map([&](const at::Tensor& leaf) { return leaf.dim() == 0 ? leaf : leaf.select(0, row); });
}

}  // namespace

at::Tensor take_rows(const at::Tensor& tensor, std::span<const int64_t> indices) {
  // The index tensor only reads, and lives no longer than the call.
  const at::Tensor index =
      at::from_blob(const_cast<int64_t*>(indices.data()), {static_cast<int64_t>(indices.size())}, at::kLong);
  return at::index_select(tensor, 0, index);
}

std::vector<Batch> Dataset::get_samples(std::span<const int64_t> indices, const SampleRandom& random) const {
  const Batch batch = get_batch(indices, random);
  std::vector<Batch> samples;
  samples.reserve(indices.size());
  for (size_t row = 0; row < indices.size(); ++row) samples.push_back(row_of(batch, static_cast<int64_t>(row)));
  return samples;
}

Batch SampleDataset::get_batch(std::span<const int64_t> indices, const SampleRandom& random) const {
  return stack_samples(get_samples(indices, random));
}

std::vector<Batch> SampleDataset::get_samples(std::span<const int64_t> indices, const SampleRandom& random) const {
  std::vector<Batch> samples;
  samples.reserve(indices.size());
  for (const int64_t index : indices) {
    RandomStream stream = random.stream(index);
    try {
      samples.push_back(get_sample(index, stream));
    } catch (const std::exception& error) {
      throw DataError(fmt::format("[SampleDataset] sample {} could not be read: {}", index, error.what()));
    }
  }
  return samples;
}

TensorDataset::TensorDataset(Batch samples) : samples_(std::move(samples)), size_(samples_.batch_size()) {
  samples_.map([&](const at::Tensor& leaf) {
    if (leaf.dim() == 0 || leaf.size(0) != size_) {
      throw DataError(fmt::format("[TensorDataset] every tensor must have {} samples in its first dimension, got {}.",
                                  size_, describe_tensor(leaf)));
    }
    return leaf;
  });
}

Batch TensorDataset::get_batch(std::span<const int64_t> indices, const SampleRandom& /*random*/) const {
  return samples_.map([&](const at::Tensor& leaf) { return take_rows(leaf, indices); });
}

}  // namespace levin
