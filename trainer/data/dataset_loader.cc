#include "trainer/data/dataset_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "trainer/core/error.h"
#include "trainer/data/sampler.h"

namespace levin {

DatasetLoader::DatasetLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options)
    : dataset_(std::move(dataset)), options_(options) {
  if (options_.batch_size < 1) {
    throw ConfigError(fmt::format("[DatasetLoader] batch_size must be >= 1, got {}.", options_.batch_size));
  }
  if (dataset_->size() == 0) throw DataError("[DatasetLoader] the dataset has no samples.");
  if (*num_batches() == 0) {
    throw DataError(
        fmt::format("[DatasetLoader] the dataset's {} samples make no full batch of {}, and drop_last is set.",
                    dataset_->size(), options_.batch_size));
  }
}

void DatasetLoader::start_epoch(int64_t epoch) {
  epoch_ = epoch;
  next_batch_ = 0;
  if (options_.shuffle && !context_.is_in_order) {
    order_ = random_order(dataset_->size(), context_.seed, epoch);
  } else if (order_.empty()) {
    order_ = sequential_order(dataset_->size());
  }
}

std::optional<Batch> DatasetLoader::next() {
  if (order_.empty()) start_epoch(0);
  if (next_batch_ >= *num_batches()) return std::nullopt;
  Batch batch = dataset_->get_batch(indices_of(next_batch_));
  ++next_batch_;  // only what has been delivered counts
  return batch;
}

std::span<const int64_t> DatasetLoader::indices_of(int64_t batch) const {
  const int64_t begin = batch * options_.batch_size;
  const int64_t count = std::min(options_.batch_size, dataset_->size() - begin);
  return {order_.data() + begin, static_cast<size_t>(count)};
}

std::span<const int64_t> DatasetLoader::sample_indices() const {
  return order_.empty() || next_batch_ == 0 ? std::span<const int64_t>() : indices_of(next_batch_ - 1);
}

std::optional<int64_t> DatasetLoader::num_batches() const {
  const int64_t num_full = dataset_->size() / options_.batch_size;
  const bool has_partial = dataset_->size() % options_.batch_size != 0;
  return has_partial && !options_.drop_last ? num_full + 1 : num_full;
}

StateDict DatasetLoader::state() const {
  StateDict state;
  state.set("epoch", epoch_);
  state.set("batches_delivered", next_batch_);
  state.set("batch_size", options_.batch_size);
  state.set("dataset_size", dataset_->size());
  return state;
}

void DatasetLoader::load_state(const StateDict& state) {
  if (state.integer("batch_size") != options_.batch_size || state.integer("dataset_size") != dataset_->size()) {
    throw CheckpointError(fmt::format(
        "[DatasetLoader] the saved position is for {} samples in batches of {}, but this loader has {} samples in "
        "batches of {}.",
        state.integer("dataset_size"), state.integer("batch_size"), dataset_->size(), options_.batch_size));
  }
  const int64_t delivered = state.integer("batches_delivered");
  if (delivered < 0 || delivered > *num_batches()) {
    throw CheckpointError(
        fmt::format("[DatasetLoader] the saved position is after {} batches, but an epoch of this loader has {}.",
                    delivered, *num_batches()));
  }
  start_epoch(state.integer("epoch"));
  next_batch_ = delivered;
}

}  // namespace levin
