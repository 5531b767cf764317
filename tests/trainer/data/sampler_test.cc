#include "trainer/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/order_of.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using Order = std::vector<int64_t>;

TEST(SamplerTest, SequentialOrderCounts) {
  EXPECT_EQ(sequential_order(4), (Order{0, 1, 2, 3}));
  EXPECT_EQ(sequential_order(0), Order{});
  EXPECT_EQ(samples_of(*SequentialSampler(4).order(7, 3)), (Order{0, 1, 2, 3}));
}

// Pinned: another order would break the resuming of old runs. From a separate implementation in Python of SplitMix64,
// mt19937_64 (checked by its 10,000th value) and the shuffle.
TEST(SamplerTest, RandomOrderNeverChanges) {
  EXPECT_EQ(random_order(8, 1, 0), (Order{1, 4, 6, 0, 5, 2, 7, 3}));
  EXPECT_EQ(random_order(8, 1, 1), (Order{7, 1, 6, 3, 0, 5, 4, 2}));
  EXPECT_EQ(random_order(8, 2, 0), (Order{7, 1, 3, 2, 5, 4, 0, 6}));
}

TEST(SamplerTest, RandomOrderHasEachIndexOnce) {
  for (const int64_t size : {0, 1, 2, 3, 1000}) {
    Order order = random_order(size, 5, 3);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, sequential_order(size));
  }
}

TEST(SamplerTest, EveryIndexIsFirstEquallyOften) {
  std::vector<int> counts(4);
  for (int64_t epoch = 0; epoch < 4000; ++epoch) ++counts[static_cast<size_t>(random_order(4, 1, epoch).front())];
  // 1000 expected each; the standard deviation is sqrt(4000 * 1/4 * 3/4) = 27.4.
  for (const int count : counts) EXPECT_NEAR(count, 1000, 5 * 27.4);
}

TEST(SamplerTest, NoSamplesAreAnError) {
  EXPECT_EQ(error_text<DataError>([] { SequentialSampler(0).order(0, 0); }),
            "[SequentialSampler] there must be samples to draw from, got 0.");
  EXPECT_EQ(error_text<DataError>([] { RandomSampler(0).order(0, 0); }),
            "[RandomSampler] there must be samples to draw from, got 0.");
}

TEST(RandomSamplerTest, UpToTheTableItIsRandomOrder) {
  EXPECT_EQ(samples_of(*RandomSampler(8).order(1, 0)), random_order(8, 1, 0));
  const auto order = RandomSampler(1 << 16).order(1, 0);
  Order first;
  order->read(0, first);
  EXPECT_EQ(first.front(), random_order(1 << 16, 1, 0).front());
}

constexpr int64_t kTable = 1 << 16;  // the largest size that is kept as a table

// Just beyond the table most of the network's values fall outside; at four times the table none does.
TEST(RandomSamplerTest, BeyondTheTableEachIndexComesOnce) {
  for (const int64_t size : {kTable + 1, 3 * kTable / 2, 4 * kTable}) {
    const auto order = RandomSampler(size).order(1, 0);
    ASSERT_EQ(order->size(), size);
    std::vector<bool> seen(static_cast<size_t>(size));
    Order read;
    for (int64_t i = 0; i < size; ++i) {
      read.clear();
      order->read(i, read);
      ASSERT_EQ(read.size(), 1u);
      ASSERT_GE(read[0], 0);
      ASSERT_LT(read[0], size);
      ASSERT_FALSE(seen[static_cast<size_t>(read[0])]) << "index " << read[0] << " comes twice";
      seen[static_cast<size_t>(read[0])] = true;
    }
  }
}

TEST(RandomSamplerTest, BeyondTheTableSeedAndEpochDecide) {
  const RandomSampler sampler(kTable + 1);
  const auto head = [&](uint64_t seed, int64_t epoch) {
    const auto order = sampler.order(seed, epoch);
    Order read;
    for (int64_t i = 0; i < 100; ++i) order->read(i, read);
    return read;
  };
  EXPECT_EQ(head(1, 0), head(1, 0));
  EXPECT_NE(head(1, 0), head(1, 1));
  EXPECT_NE(head(1, 0), head(2, 0));
}

TEST(RandomSamplerTest, BeyondTheTableTheOrderLooksRandom) {
  constexpr int64_t kSize = kTable + 1;
  constexpr int64_t kDraws = 40'000;
  const auto order = RandomSampler(kSize).order(1, 0);
  Order read;
  for (int64_t i = 0; i < kDraws; ++i) order->read(i, read);

  // The first 40,000 fall evenly over 16 equal ranges: chi-squared with 15 degrees of freedom, 99.99 % below 44.3.
  std::vector<int> counts(16);
  for (const int64_t index : read) ++counts[static_cast<size_t>(index * 16 / kSize)];
  double chi_squared = 0.0;
  for (const int count : counts) chi_squared += std::pow(count - kDraws / 16.0, 2) / (kDraws / 16.0);
  EXPECT_LT(chi_squared, 44.3);

  // Neighbours have nothing to do with each other: their correlation has a standard deviation of 1/sqrt(40,000).
  double sum = 0.0;
  for (size_t i = 0; i + 1 < read.size(); ++i) {
    const auto unit = [&](int64_t index) { return (static_cast<double>(index) / kSize - 0.5) * std::sqrt(12.0); };
    sum += unit(read[i]) * unit(read[i + 1]);
  }
  EXPECT_LT(std::abs(sum / kDraws), 5.0 / std::sqrt(kDraws));
}

TEST(WeightedSamplerTest, DrawsWithTheWeights) {
  constexpr int64_t kDraws = 100'000;
  const WeightedSampler sampler({1.0, 0.0, 3.0, 6.0}, kDraws);
  std::vector<int> counts(4);
  for (const int64_t index : samples_of(*sampler.order(1, 0))) ++counts[static_cast<size_t>(index)];
  const std::vector<double> probabilities = {0.1, 0.0, 0.3, 0.6};
  for (size_t i = 0; i < 4; ++i) {
    const double deviation = std::sqrt(kDraws * probabilities[i] * (1.0 - probabilities[i]));
    EXPECT_NEAR(counts[i], kDraws * probabilities[i], 5 * deviation) << i;
  }
  EXPECT_EQ(counts[1], 0);
}

TEST(WeightedSamplerTest, WithoutReplacementNoneComesTwice) {
  std::vector<double> weights(100, 0.5);
  weights[7] = 0.0;
  const WeightedSampler sampler(weights, 99, /*with_replacement=*/false);
  const Order order = samples_of(*sampler.order(1, 0));
  EXPECT_EQ(order.size(), 99u);
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 99u);
  EXPECT_EQ(std::ranges::count(order, 7), 0);
}

// The first draw has the probabilities of the weights; the second, given the first, those of the rest.
TEST(WeightedSamplerTest, WithoutReplacementTheWeightsDecideTheOrder) {
  constexpr int kEpochs = 20'000;
  const std::vector<double> weights = {5.0, 3.0, 2.0};
  const WeightedSampler sampler(weights, 2, /*with_replacement=*/false);
  std::vector<std::vector<int>> counts(3, std::vector<int>(3));
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const Order order = samples_of(*sampler.order(1, epoch));
    ++counts[static_cast<size_t>(order[0])][static_cast<size_t>(order[1])];
  }
  for (size_t first = 0; first < 3; ++first) {
    for (size_t second = 0; second < 3; ++second) {
      const double p = first == second ? 0.0 : weights[first] / 10.0 * weights[second] / (10.0 - weights[first]);
      EXPECT_NEAR(counts[first][second], kEpochs * p, 5 * std::sqrt(kEpochs * p * (1.0 - p))) << first << second;
    }
  }
}

TEST(WeightedSamplerTest, SeedAndEpochDecide) {
  for (const bool with_replacement : {true, false}) {
    const WeightedSampler sampler(std::vector<double>(50, 1.0), 20, with_replacement);
    const Order order = samples_of(*sampler.order(1, 0));
    EXPECT_EQ(samples_of(*sampler.order(1, 0)), order);
    EXPECT_NE(samples_of(*sampler.order(1, 1)), order);
    EXPECT_NE(samples_of(*sampler.order(2, 0)), order);
  }
}

// Neither the sum of the weights nor a product with it may leave the numbers of double.
TEST(WeightedSamplerTest, WeightsMayBeAsLargeOrSmallAsDoubleAllows) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
  for (const double weight : {kLargest, kSmallest}) {
    for (const bool with_replacement : {true, false}) {
      const WeightedSampler sampler({weight, weight, weight, weight}, 4, with_replacement);
      std::set<int64_t> seen;
      for (int64_t epoch = 0; epoch < 50; ++epoch) {
        const Order order = samples_of(*sampler.order(1, epoch));
        ASSERT_TRUE(std::ranges::all_of(order, [](int64_t index) { return index >= 0 && index < 4; }));
        seen.insert(order.front());
      }
      EXPECT_EQ(seen.size(), 4u) << weight;
    }
  }
}

TEST(WeightedSamplerTest, TheLeastOfTwoWeightsIsStillDrawn) {
  const WeightedSampler sampler({1e308, 1e-308}, 2, /*with_replacement=*/false);
  EXPECT_EQ(samples_of(*sampler.order(1, 0)), (Order{0, 1}));
}

TEST(WeightedSamplerTest, WeightsMustBeWeights) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_text<ConfigError>([] {
              WeightedSampler({1.0, -0.5}, 1);
            }),
            "[WeightedSampler] a weight must be finite and >= 0, got -0.5 for sample 1.");
  EXPECT_NE(error_text<ConfigError>([] { WeightedSampler({kInfinity}, 1); }).find("got inf"), std::string::npos);
  EXPECT_NE(error_text<ConfigError>([] { WeightedSampler({std::nan("")}, 1); }).find("got nan"), std::string::npos);
  EXPECT_EQ(error_text<ConfigError>([] {
              WeightedSampler({0.0, 0.0}, 1);
            }),
            "[WeightedSampler] a weight must be above 0, but all 2 are 0.");
  EXPECT_EQ(error_text<ConfigError>([] { WeightedSampler({1.0}, 0); }),
            "[WeightedSampler] num_samples must be >= 1, got 0.");
  EXPECT_EQ(error_text<ConfigError>([] {
              WeightedSampler({1.0, 0.0}, 2, false);
            }),
            "[WeightedSampler] without replacement num_samples must be <= 1, the weights above 0, got 2.");
}

}  // namespace
}  // namespace levin
