#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/data/sample_random.h"

namespace levin {

/// The order of one epoch: a sequence of units, which are dealt among the ranks. A unit is one sample, or one batch
/// where the sampler makes batches itself. Reading is safe from several threads.
class EpochOrder {
 public:
  virtual ~EpochOrder() = default;
  /// Number of units.
  virtual int64_t size() const = 0;
  /// Appends the sample indices of unit `position`, in [0, size()).
  virtual void read(int64_t position, std::vector<int64_t>& indices) const = 0;
};

/// Decides which samples an epoch has, and in what order: a function of seed and epoch alone, the same on every rank.
/// Ranks, workers and the position within the epoch are the loader's business.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Errors: DataError if there is nothing to draw from.
  virtual std::shared_ptr<const EpochOrder> order(uint64_t seed, int64_t epoch) const = 0;
  /// True if a unit of the order is a whole batch; the loader's batch_size is then not used.
  virtual bool makes_batches() const { return false; }
};

/// 0, 1, ... size - 1.
class SequentialSampler final : public Sampler {
 public:
  explicit SequentialSampler(int64_t size) : size_(size) {}
  std::shared_ptr<const EpochOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  int64_t size_;
};

/// Every sample once, shuffled anew each epoch. Up to 2^16 samples by Fisher and Yates' shuffle; beyond that by a keyed
/// permutation (a Feistel network, with cycle walking; Black, Rogaway 2002) that is computed where it is read, so that
/// neither memory nor the start of an epoch grow with the dataset.
class RandomSampler final : public Sampler {
 public:
  explicit RandomSampler(int64_t size) : size_(size) {}
  std::shared_ptr<const EpochOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  int64_t size_;
};

/// Draws samples with the given weights.
class WeightedSampler final : public Sampler {
 public:
  /// weights: one for each sample, finite and >= 0, not all 0; they need not add up to 1. num_samples: draws of an
  /// epoch. with_replacement: a sample can come more than once; without, num_samples is at most the number of weights
  /// above 0 (drawn by exponential keys; Efraimidis, Spirakis 2006).
  /// Errors: ConfigError.
  WeightedSampler(std::vector<double> weights, int64_t num_samples, bool with_replacement = true);
  std::shared_ptr<const EpochOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  std::vector<int64_t> draw_with_replacement(RandomStream& random) const;
  std::vector<int64_t> draw_without_replacement(RandomStream& random) const;

  std::vector<double> weights_;
  int64_t num_samples_;
  bool with_replacement_;
};

/// 0, 1, ... size - 1.
std::vector<int64_t> sequential_order(int64_t size);

/// A permutation of 0 ... size - 1 that depends on seed and epoch alone (Fisher and Yates' shuffle over mt19937_64),
/// the same on every platform. size >= 0.
std::vector<int64_t> random_order(int64_t size, uint64_t seed, int64_t epoch);

}  // namespace levin
