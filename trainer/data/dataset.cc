#include "trainer/data/dataset.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {
namespace {

bool are_consecutive(std::span<const int64_t> indices) {
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] != indices[i - 1] + 1) return false;
  }
  return !indices.empty();
}

}  // namespace

at::Tensor take_rows(const at::Tensor& tensor, std::span<const int64_t> indices) {
  const auto count = static_cast<int64_t>(indices.size());
  if (are_consecutive(indices)) return tensor.narrow(0, indices.front(), count);
  // The index tensor only reads, and lives no longer than the call.
  const at::Tensor index = at::from_blob(const_cast<int64_t*>(indices.data()), {count}, at::kLong);
  return at::index_select(tensor, 0, index);
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

Batch TensorDataset::get_batch(std::span<const int64_t> indices) const {
  return samples_.map([&](const at::Tensor& leaf) { return take_rows(leaf, indices); });
}

}  // namespace levin
