#include "trainer/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace levin {
namespace {

TEST(SamplerTest, SequentialOrderCounts) {
  EXPECT_EQ(sequential_order(3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(sequential_order(0).empty());
}

TEST(SamplerTest, RandomOrderHasEachIndexOnce) {
  for (const int64_t size : {0, 1, 2, 7, 1000}) {
    std::vector<int64_t> order = random_order(size, /*seed=*/3, /*epoch=*/5);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, sequential_order(size));
  }
}

TEST(SamplerTest, RandomOrderDependsOnSeedAndEpochAlone) {
  EXPECT_EQ(random_order(100, 1, 0), random_order(100, 1, 0));
  EXPECT_NE(random_order(100, 1, 0), random_order(100, 1, 1));
  EXPECT_NE(random_order(100, 1, 0), random_order(100, 2, 0));
  // Neighbouring seeds and epochs must not trade places: seed 1, epoch 1 is not seed 2, epoch 0.
  EXPECT_NE(random_order(100, 1, 1), random_order(100, 2, 0));
}

TEST(SamplerTest, EveryIndexComesFirstSometimes) {
  std::set<int64_t> first;
  for (int64_t epoch = 0; epoch < 200; ++epoch) first.insert(random_order(8, 1, epoch).front());
  EXPECT_EQ(first.size(), 8u);
}

}  // namespace
}  // namespace levin
