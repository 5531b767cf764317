#pragma once

#include <fmt/format.h>
#include <torch/data/datasets/base.h>
#include <torch/data/example.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"
#include "trainer/data/collate.h"
#include "trainer/data/dataset.h"

namespace levin {

/// An example of a LibTorch dataset as a batch or a sample: the list [data, target], or data alone where there is no
/// target.
template <class Target>
Batch to_batch(torch::data::Example<at::Tensor, Target> example) {
  if constexpr (std::is_void_v<Target>) {
    return std::move(example.data);
  } else {
    return Batch::of(std::move(example.data), std::move(example.target));
  }
}
inline Batch to_batch(at::Tensor data) { return data; }

/// What can be adapted: a LibTorch dataset that is asked by index and can be copied.
template <class T>
concept IndexedTorchDataset = std::copy_constructible<T> && requires(T& dataset, c10::ArrayRef<size_t> indices) {
  { dataset.size() } -> std::same_as<std::optional<size_t>>;
  dataset.get_batch(indices);
};

/// A LibTorch dataset as one of Levin's, so that it has Levin's order, workers and exact resume. It may give a list of
/// examples, which are stacked or collated, or one example that is a batch already, as after map(Stack<>()).
///
/// get_batch() of LibTorch's datasets is not const: each thread that reads at the same time gets a copy of the dataset.
/// Transforms that draw from LibTorch's generator give other numbers for other numbers of workers; Levin's transforms
/// do not.
template <IndexedTorchDataset T>
class TorchDataset final : public Dataset {
 public:
  /// Errors: DataError if the dataset does not know its size.
  explicit TorchDataset(T dataset) : original_(std::move(dataset)) {
    const std::optional<size_t> size = original_.size();
    if (!size) throw DataError("[TorchDataset] a LibTorch dataset must know its size, but size() gave none.");
    size_ = static_cast<int64_t>(*size);
  }

  int64_t size() const override { return size_; }

  /// Errors: DataError if the examples differ in shape, and what the LibTorch dataset throws.
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& /*random*/) const override {
    if constexpr (gives_examples()) {
      return stack_samples(samples_of(read(indices)));
    } else {
      return to_batch(read(indices));
    }
  }

  std::vector<Batch> get_samples(std::span<const int64_t> indices, const SampleRandom& random) const override {
    if constexpr (gives_examples()) {
      return samples_of(read(indices));
    } else {
      return Dataset::get_samples(indices, random);
    }
  }

 private:
  using TorchBatch = decltype(std::declval<T&>().get_batch(c10::ArrayRef<size_t>()));

  static constexpr bool gives_examples() {
    return requires(TorchBatch & batch) { to_batch(*batch.begin()); };
  }

  static std::vector<Batch> samples_of(TorchBatch examples) {
    std::vector<Batch> samples;
    samples.reserve(examples.size());
    for (auto& example : examples) samples.push_back(to_batch(std::move(example)));
    return samples;
  }

  TorchBatch read(std::span<const int64_t> indices) const {
    const std::vector<size_t> unsigned_indices(indices.begin(), indices.end());
    std::unique_ptr<T> dataset = take_copy();
    // If this throws, the copy is dropped: who knows in which state it is.
    TorchBatch batch = dataset->get_batch(unsigned_indices);
    const std::lock_guard lock(mutex_);
    unused_.push_back(std::move(dataset));
    return batch;
  }

  std::unique_ptr<T> take_copy() const {
    {
      const std::lock_guard lock(mutex_);
      if (!unused_.empty()) {
        std::unique_ptr<T> dataset = std::move(unused_.back());
        unused_.pop_back();
        return dataset;
      }
    }
    return std::make_unique<T>(original_);
  }

  T original_;
  int64_t size_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<T>> unused_;  // copies that no thread reads from
};

/// For example `DatasetLoader(from_torch(torch::data::datasets::MNIST(dir)), {.batch_size = 128, .shuffle = true})`.
template <IndexedTorchDataset T>
std::shared_ptr<const Dataset> from_torch(T dataset) {
  return std::make_shared<TorchDataset<T>>(std::move(dataset));
}

}  // namespace levin
