#include "trainer/data/keyed_permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace levin {
namespace {

std::vector<int64_t> all(int64_t size, uint64_t key) {
  const KeyedPermutation permutation(size, key);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < size; ++i) values.push_back(permutation(i));
  return values;
}

TEST(KeyedPermutationTest, HasEachValueOnce) {
  for (const int64_t size : {1, 2, 3, 7, 63, 64, 65, 255, 256, 257, 1000, 4097, 100000}) {
    for (const uint64_t key : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
      std::vector<int64_t> values = all(size, key);
      std::sort(values.begin(), values.end());
      for (int64_t i = 0; i < size; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i) << size << " " << key;
    }
  }
}

TEST(KeyedPermutationTest, DependsOnTheKeyAlone) {
  EXPECT_EQ(all(1000, 5), all(1000, 5));
  EXPECT_NE(all(1000, 5), all(1000, 6));
}

TEST(KeyedPermutationTest, StaysInRangeForHugeSizes) {
  const int64_t size = (int64_t{1} << 62) + 12345;
  const KeyedPermutation permutation(size, 3);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 1000; ++i) values.push_back(permutation(size - 1 - i));
  std::sort(values.begin(), values.end());
  EXPECT_GE(values.front(), 0);
  EXPECT_LT(values.back(), size);
  EXPECT_EQ(std::adjacent_find(values.begin(), values.end()), values.end());
}

TEST(KeyedPermutationTest, EveryOrderOfThreeIsAboutAsLikely) {
  std::map<std::vector<int64_t>, int> counts;
  constexpr int kKeys = 6000;
  for (uint64_t key = 0; key < kKeys; ++key) ++counts[all(3, key)];
  EXPECT_EQ(counts.size(), 6u);
  // Six standard deviations of a binomial variable around the mean of 1000.
  constexpr int kSlack = 175;
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, kKeys / 6, kSlack);
}

}  // namespace
}  // namespace levin
