#include "trainer/data/batch_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/random.h"

namespace levin {
namespace {

/// Batches of any sizes, one after the other in one list.
class BatchList final : public EpochOrder {
 public:
  int64_t size() const override { return static_cast<int64_t>(ends_.size()); }
  void read(int64_t position, std::vector<int64_t>& indices) const override {
    const auto batch = static_cast<size_t>(position);
    const auto begin = samples_.begin() + (batch == 0 ? 0 : ends_[batch - 1]);
    indices.insert(indices.end(), begin, samples_.begin() + ends_[batch]);
  }
  void add(std::span<const int64_t> batch) {
    samples_.insert(samples_.end(), batch.begin(), batch.end());
    ends_.push_back(static_cast<int64_t>(samples_.size()));
  }

 private:
  std::vector<int64_t> samples_;
  std::vector<int64_t> ends_;
};

using Batches = std::vector<std::span<const int64_t>>;

/// Cuts a bucket, sorted by length, into batches.
void cut(std::span<const int64_t> bucket, const std::vector<int64_t>& lengths, const LengthSamplerOptions& options,
         Batches& batches) {
  size_t begin = 0;
  for (size_t end = 1; end <= bucket.size(); ++end) {
    const auto size = static_cast<int64_t>(end - begin);
    // The bucket is sorted, so that the next sample is the longest.
    const bool is_full = (options.batch_size && size == *options.batch_size) ||
                         (options.max_tokens && end < bucket.size() &&
                          (size + 1) * lengths[static_cast<size_t>(bucket[end])] > *options.max_tokens);
    const bool is_last = end == bucket.size();
    if (!is_full && !is_last) continue;
    const bool is_left_out = !is_full && options.drop_last && options.batch_size;
    if (!is_left_out) batches.push_back(bucket.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace

LengthSampler::LengthSampler(std::vector<int64_t> lengths, LengthSamplerOptions options)
    : lengths_(std::move(lengths)), options_(options) {
  if (!options_.batch_size && !options_.max_tokens) {
    throw ConfigError("[LengthSampler] batch_size or max_tokens must be given, got neither.");
  }
  if (options_.batch_size.value_or(1) < 1 || options_.max_tokens.value_or(1) < 1 || options_.bucket_size < 1) {
    throw ConfigError(
        fmt::format("[LengthSampler] batch_size, max_tokens and bucket_size must be >= 1, got {}, {}, {}.",
                    options_.batch_size.value_or(1), options_.max_tokens.value_or(1), options_.bucket_size));
  }
  if (lengths_.empty()) throw DataError("[LengthSampler] there must be samples to draw from, got none.");
  for (size_t i = 0; i < lengths_.size(); ++i) {
    if (lengths_[i] < 1 || (options_.max_tokens && lengths_[i] > *options_.max_tokens)) {
      throw DataError(fmt::format(
          "[LengthSampler] a sample must have {}, but sample {} has {}.",
          options_.max_tokens ? fmt::format("between 1 and {} tokens", *options_.max_tokens) : "at least 1 token", i,
          lengths_[i]));
    }
  }
}

std::shared_ptr<const EpochOrder> LengthSampler::order(uint64_t seed, int64_t epoch) const {
  const auto size = static_cast<int64_t>(lengths_.size());
  // Of whole batches, so that only the epoch's last one may not be full.
  int64_t bucket_size = std::min(options_.bucket_size, size);
  if (options_.batch_size && !options_.max_tokens) {
    const int64_t batch_size = std::min(*options_.batch_size, size);
    bucket_size = (bucket_size + batch_size - 1) / batch_size * batch_size;
  }
  std::vector<int64_t> order = options_.shuffle ? random_order(size, seed, epoch) : sequential_order(size);

  Batches batches;
  for (int64_t begin = 0; begin < size; begin += bucket_size) {
    const std::span<int64_t> bucket =
        std::span(order).subspan(static_cast<size_t>(begin), static_cast<size_t>(std::min(bucket_size, size - begin)));
    std::ranges::stable_sort(bucket, {}, [&](int64_t sample) { return lengths_[static_cast<size_t>(sample)]; });
    cut(bucket, lengths_, options_, batches);
  }
  if (batches.empty()) {
    throw DataError(fmt::format("[LengthSampler] the {} samples make no full batch of {}, and drop_last is set.", size,
                                *options_.batch_size));
  }

  auto list = std::make_shared<BatchList>();
  const auto num_batches = static_cast<int64_t>(batches.size());
  constexpr uint64_t kBatches = 0x62617463686573;  // "batches": another stream than that of the samples
  for (const int64_t batch :
       options_.shuffle ? random_order(num_batches, mix_seed(seed, kBatches), epoch) : sequential_order(num_batches)) {
    list->add(batches[static_cast<size_t>(batch)]);
  }
  return list;
}

}  // namespace levin
