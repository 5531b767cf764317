#include "trainer/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace levin {
namespace {

using Order = std::vector<int64_t>;

TEST(SamplerTest, SequentialOrderCounts) {
  EXPECT_EQ(sequential_order(4), (Order{0, 1, 2, 3}));
  EXPECT_EQ(sequential_order(0), Order{});
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

}  // namespace
}  // namespace levin
