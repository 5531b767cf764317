#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "trainer/data/iterable_dataset.h"

namespace levin {

/// How a CountingDataset behaves.
struct CountingOptions {
  bool knows_size = true;
  /// Its stream can say where it is, so that a resume reads nothing twice.
  bool has_state = false;
};

/// The numbers begin ... begin + size - 1, where begin = 1000 * epoch. Sample i is the number itself, int64 [].
class CountingDataset final : public IterableDataset {
 public:
  explicit CountingDataset(int64_t size, CountingOptions options = {}) : size_(size), options_(options) {}

  std::unique_ptr<SampleStream> open(const SampleRandom& random) const override {
    return std::make_unique<Stream>(*this, 1000 * random.epoch);
  }
  std::optional<int64_t> size() const override { return options_.knows_size ? std::optional(size_) : std::nullopt; }
  /// Samples that all streams have read, those included that were skipped.
  int64_t num_read() const { return num_read_; }

 private:
  class Stream final : public SampleStream {
   public:
    Stream(const CountingDataset& dataset, int64_t begin) : dataset_(dataset), begin_(begin) {}
    std::optional<Batch> next() override {
      if (position_ == dataset_.size_) return std::nullopt;
      ++dataset_.num_read_;
      return Batch(at::full({}, begin_ + position_++));
    }
    std::optional<StateDict> state() const override {
      if (!dataset_.options_.has_state) return std::nullopt;
      StateDict state;
      state.set("position", position_);
      return state;
    }
    void load_state(const StateDict& state) override { position_ = state.integer("position"); }

   private:
    const CountingDataset& dataset_;
    int64_t begin_;
    int64_t position_ = 0;
  };

  int64_t size_;
  CountingOptions options_;
  mutable std::atomic<int64_t> num_read_ = 0;
};

/// The numbers of a batch.
inline std::vector<int64_t> numbers_of(const Batch& batch) {
  const at::Tensor tensor = batch.tensor().contiguous();
  return {tensor.const_data_ptr<int64_t>(), tensor.const_data_ptr<int64_t>() + tensor.numel()};
}

}  // namespace levin
