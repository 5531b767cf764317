#pragma once

#include <cstdint>
#include <span>

#include "trainer/core/batch.h"

namespace levin {

/// A map-style dataset: a number of samples that can be read in any order.
class Dataset {
 public:
  virtual ~Dataset() = default;
  /// Number of samples.
  virtual int64_t size() const = 0;
  /// The samples at `indices` (each in [0, size())) as one batch; leaves are [indices.size(), ...], on the CPU.
  virtual Batch get_batch(std::span<const int64_t> indices) const = 0;
};

/// Samples that are in memory already: each leaf of `samples` is [N, ...] on the CPU.
class TensorDataset final : public Dataset {
 public:
  /// Errors: DataError if the leaves differ in N, or there is none.
  explicit TensorDataset(Batch samples);

  int64_t size() const override { return size_; }
  Batch get_batch(std::span<const int64_t> indices) const override;

 private:
  Batch samples_;
  int64_t size_;
};

/// Rows `indices` of `tensor` [N, ...]: a view without a copy where they are consecutive, else a new tensor.
at::Tensor take_rows(const at::Tensor& tensor, std::span<const int64_t> indices);

}  // namespace levin
