#include "trainer/data/dataset.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "trainer/core/error.h"
#include "trainer/data/collate.h"

namespace levin {
namespace {

Batch row_of(const Batch& batch, int64_t row) {
  return batch.map([&](const at::Tensor& leaf) { return leaf.dim() == 0 ? leaf : leaf.select(0, row); });
}

// Up to here one thread is done before others have been woken.
constexpr int64_t kMaxCopied = int64_t{1} << 20;

bool are_copied(const at::Tensor& tensor, std::span<const int64_t> indices) {
  if (!tensor.is_cpu() || tensor.dim() == 0 || !tensor.is_contiguous() || tensor.requires_grad()) return false;
  const int64_t size = tensor.size(0);
  if (!std::all_of(indices.begin(), indices.end(), [&](int64_t index) { return index >= 0 && index < size; })) {
    return false;  // LibTorch has the error
  }
  return size > 0 && static_cast<int64_t>(tensor.nbytes()) / size <=
                         kMaxCopied / std::max<int64_t>(1, static_cast<int64_t>(indices.size()));
}

at::Tensor copy_rows(const at::Tensor& tensor, std::span<const int64_t> indices) {
  std::vector<int64_t> shape = tensor.sizes().vec();
  shape[0] = static_cast<int64_t>(indices.size());
  at::Tensor rows = at::empty(shape, tensor.options());
  const size_t row_size = tensor.nbytes() / static_cast<size_t>(tensor.size(0));
  if (row_size == 0) return rows;
  const auto* from = static_cast<const char*>(tensor.const_data_ptr());
  auto* to = static_cast<char*>(rows.mutable_data_ptr());
  for (const int64_t index : indices) {
    std::memcpy(to, from + static_cast<size_t>(index) * row_size, row_size);
    to += row_size;
  }
  return rows;
}

}  // namespace

at::Tensor take_rows(const at::Tensor& tensor, std::span<const int64_t> indices) {
  if (are_copied(tensor, indices)) return copy_rows(tensor, indices);
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
