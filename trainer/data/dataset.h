#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/core/batch.h"
#include "trainer/data/sample_random.h"

namespace levin {

/// A map-style dataset: a number of samples that can be read in any order. Derive from SampleDataset where samples are
/// read one by one, from this where a whole batch can be read better.
///
/// A loader with workers calls the const methods from several threads at a time.
class Dataset {
 public:
  virtual ~Dataset() = default;
  /// Number of samples.
  virtual int64_t size() const = 0;
  /// The samples at `indices` (each in [0, size())) as one batch; leaves are [indices.size(), ...], on the CPU.
  /// random: where the draws of random transforms come from.
  virtual Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const = 0;
  /// The same samples one by one, for a collate function that is not the default: leaves without the first dimension.
  /// Default: the rows of get_batch().
  virtual std::vector<Batch> get_samples(std::span<const int64_t> indices, const SampleRandom& random) const;
};

/// A dataset whose samples are read one by one, and stacked.
class SampleDataset : public Dataset {
 public:
  /// Sample `index`, on the CPU, without a batch dimension. random: this sample's own random numbers.
  virtual Batch get_sample(int64_t index, RandomStream& random) const = 0;

  /// Errors: DataError if the samples differ in shape (see pad_collate()); what get_sample() throws, as a DataError
  /// that names the index.
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override;
  std::vector<Batch> get_samples(std::span<const int64_t> indices, const SampleRandom& random) const override;
};

/// Samples that are in memory already: each leaf of `samples` is [N, ...] on the CPU.
class TensorDataset final : public Dataset {
 public:
  /// Errors: DataError if the leaves differ in N, or there is none.
  explicit TensorDataset(Batch samples);

  int64_t size() const override { return size_; }
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override;

 private:
  Batch samples_;
  int64_t size_;
};

/// Rows `indices` of `tensor` [N, ...] in a new tensor.
at::Tensor take_rows(const at::Tensor& tensor, std::span<const int64_t> indices);

}  // namespace levin
