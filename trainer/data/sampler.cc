#include "trainer/data/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/random.h"
#include "trainer/data/keyed_permutation.h"
#include "trainer/data/sample_random.h"

namespace levin {
namespace {

constexpr int64_t kLargestTable = int64_t{1} << 16;  // half a megabyte, whatever the size of the data

// Uniform in [0, bound) without bias. std::uniform_int_distribution differs between standard libraries.
uint64_t draw_below(std::mt19937_64& generator, uint64_t bound) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t value = generator();
  while (value >= limit) value = generator();
  return value % bound;
}

class Sequence final : public EpochOrder {
 public:
  explicit Sequence(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  void read(int64_t position, std::vector<int64_t>& indices) const override { indices.push_back(position); }

 private:
  int64_t size_;
};

class Table final : public EpochOrder {
 public:
  explicit Table(std::vector<int64_t> table) : table_(std::move(table)) {}
  int64_t size() const override { return static_cast<int64_t>(table_.size()); }
  void read(int64_t position, std::vector<int64_t>& indices) const override {
    indices.push_back(table_[static_cast<size_t>(position)]);
  }

 private:
  std::vector<int64_t> table_;
};

class PermutedOrder final : public EpochOrder {
 public:
  PermutedOrder(int64_t size, uint64_t key) : size_(size), permutation_(size, key) {}

  int64_t size() const override { return size_; }
  void read(int64_t position, std::vector<int64_t>& indices) const override {
    indices.push_back(permutation_(position));
  }

 private:
  int64_t size_;
  KeyedPermutation permutation_;
};

void check_has_samples(int64_t size, const char* name) {
  if (size < 1) throw DataError(fmt::format("[{}] there must be samples to draw from, got {}.", name, size));
}

}  // namespace

std::vector<int64_t> sequential_order(int64_t size) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int64_t> random_order(int64_t size, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order = sequential_order(size);
  std::mt19937_64 generator(mix_seed(seed, static_cast<uint64_t>(epoch)));
  for (size_t remaining = order.size(); remaining > 1; --remaining) {
    std::swap(order[remaining - 1], order[draw_below(generator, remaining)]);
  }
  return order;
}

std::shared_ptr<const EpochOrder> SequentialSampler::order(uint64_t /*seed*/, int64_t /*epoch*/) const {
  check_has_samples(size_, "SequentialSampler");
  return std::make_shared<Sequence>(size_);
}

std::shared_ptr<const EpochOrder> RandomSampler::order(uint64_t seed, int64_t epoch) const {
  check_has_samples(size_, "RandomSampler");
  if (size_ <= kLargestTable) return std::make_shared<Table>(random_order(size_, seed, epoch));
  return std::make_shared<PermutedOrder>(size_, mix_seed(seed, static_cast<uint64_t>(epoch)));
}

WeightedSampler::WeightedSampler(std::vector<double> weights, int64_t num_samples, bool with_replacement)
    : weights_(std::move(weights)), num_samples_(num_samples), with_replacement_(with_replacement) {
  int64_t num_positive = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!std::isfinite(weights_[i]) || weights_[i] < 0.0) {
      throw ConfigError(
          fmt::format("[WeightedSampler] a weight must be finite and >= 0, got {} for sample {}.", weights_[i], i));
    }
    num_positive += weights_[i] > 0.0 ? 1 : 0;
  }
  if (num_positive == 0) {
    throw ConfigError(fmt::format("[WeightedSampler] a weight must be above 0, but all {} are 0.", weights_.size()));
  }
  // Only their proportion counts; so neither a sum nor a product leaves the numbers of double. None becomes 0.
  const double largest = std::ranges::max(weights_);
  for (double& weight : weights_) {
    if (weight > 0.0) weight = std::max(weight / largest, std::numeric_limits<double>::min());
  }
  if (num_samples_ < 1) {
    throw ConfigError(fmt::format("[WeightedSampler] num_samples must be >= 1, got {}.", num_samples_));
  }
  if (!with_replacement_ && num_samples_ > num_positive) {
    throw ConfigError(
        fmt::format("[WeightedSampler] without replacement num_samples must be <= {}, the weights above 0, got {}.",
                    num_positive, num_samples_));
  }
}

std::shared_ptr<const EpochOrder> WeightedSampler::order(uint64_t seed, int64_t epoch) const {
  RandomStream random(mix_seed(seed, static_cast<uint64_t>(epoch)));
  return std::make_shared<Table>(with_replacement_ ? draw_with_replacement(random) : draw_without_replacement(random));
}

std::vector<int64_t> WeightedSampler::draw_with_replacement(RandomStream& random) const {
  std::vector<double> sums(weights_.size());
  std::partial_sum(weights_.begin(), weights_.end(), sums.begin());
  std::vector<int64_t> indices;
  indices.reserve(static_cast<size_t>(num_samples_));
  for (int64_t i = 0; i < num_samples_; ++i) {
    // The first sum above the drawn value: never that of a weight of 0, which adds nothing.
    const auto drawn = std::upper_bound(sums.begin(), sums.end(), random.uniform() * sums.back());
    indices.push_back(drawn - sums.begin());
  }
  return indices;
}

std::vector<int64_t> WeightedSampler::draw_without_replacement(RandomStream& random) const {
  std::vector<std::pair<double, int64_t>> keys;
  for (size_t i = 0; i < weights_.size(); ++i) {
    const double exponential = -std::log1p(-random.uniform());
    if (weights_[i] > 0.0) keys.emplace_back(exponential / weights_[i], static_cast<int64_t>(i));
  }
  const auto end = keys.begin() + num_samples_;
  std::partial_sort(keys.begin(), end, keys.end());
  std::vector<int64_t> indices;
  for (auto key = keys.begin(); key != end; ++key) indices.push_back(key->second);
  return indices;
}

}  // namespace levin
