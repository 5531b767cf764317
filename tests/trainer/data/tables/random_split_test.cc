#include "trainer/data/tables/random_split.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"
#include "trainer/data/sampler.h"

namespace levin {
namespace {

TEST(RandomSplitTest, PartsAreDisjointAndTogetherAll) {
  for (const int64_t size : {3, 10, 1001}) {
    const RandomSplit split = random_split(size, 0.2, 0.3, 5);
    std::vector<int64_t> all = split.train;
    all.insert(all.end(), split.val.begin(), split.val.end());
    all.insert(all.end(), split.test.begin(), split.test.end());
    std::ranges::sort(all);
    EXPECT_EQ(all, sequential_order(size));
  }
}

TEST(RandomSplitTest, PartsHaveTheirSizeAndAreSorted) {
  const RandomSplit split = random_split(1001, 0.1, 0.25, 5);
  EXPECT_EQ(split.val.size(), 100u);
  EXPECT_EQ(split.test.size(), 250u);
  EXPECT_EQ(split.train.size(), 651u);
  EXPECT_TRUE(std::ranges::is_sorted(split.train));
  EXPECT_TRUE(std::ranges::is_sorted(split.val));
  EXPECT_TRUE(std::ranges::is_sorted(split.test));
}

TEST(RandomSplitTest, DependsOnTheSeedAlone) {
  EXPECT_EQ(random_split(100, 0.2, 0.0, 1).val, random_split(100, 0.2, 0.0, 1).val);
  EXPECT_NE(random_split(100, 0.2, 0.0, 1).val, random_split(100, 0.2, 0.0, 2).val);
  EXPECT_TRUE(random_split(100, 0.2, 0.0, 1).test.empty());
}

TEST(RandomSplitTest, ThePartsAreDrawnFromAllSamplesEquallyOften) {
  std::vector<int> counts(10);
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    for (const int64_t index : random_split(10, 0.2, 0.0, seed).val) ++counts[static_cast<size_t>(index)];
  }
  // 800 expected each; the standard deviation is sqrt(4000 * 0.2 * 0.8) = 25.3.
  for (const int count : counts) EXPECT_NEAR(count, 800, 5 * 25.3);
}

TEST(RandomSplitTest, EveryPartNeedsASample) {
  EXPECT_EQ(error_text<DataError>([] { random_split(3, 0.1, 0.0, 0); }),
            "[random_split] every part needs a sample, but of 3 samples 3 are for training, 0 for validation and 0 for "
            "the test. Change val_fraction or test_fraction.");
  EXPECT_NE(error_text<DataError>([] { random_split(1, 0.6, 0.0, 0); }).find("0 are for training"), std::string::npos);
}

TEST(RandomSplitTest, FractionsMustBeParts) {
  for (const auto& [val, test] : {std::pair(-0.1, 0.0), {0.0, -0.1}, {0.5, 0.5}, {1.0, 0.0}}) {
    EXPECT_NE(error_text<ConfigError>([&] { random_split(10, val, test, 0); }).find("together below 1"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace levin
