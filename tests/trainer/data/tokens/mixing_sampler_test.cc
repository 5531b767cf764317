#include "trainer/data/tokens/mixing_sampler.h"

#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tokens/token_test_files.h"
#include "trainer/core/error.h"
#include "trainer/data/dataset.h"
#include "trainer/data/dataset_loader.h"

namespace levin {
namespace {

using testing::HasSubstr;
using Values = std::vector<int64_t>;

Values epoch(const MixingSampler& sampler, uint64_t seed, int64_t number) {
  const auto order = sampler.order(seed, number);
  Values indices;
  for (int64_t i = 0; i < order->size(); ++i) order->read(i, indices);
  return indices;
}

int64_t count_between(const Values& values, int64_t begin, int64_t end) {
  return std::count_if(values.begin(), values.end(), [&](int64_t value) { return value >= begin && value < end; });
}

TEST(MixingSamplerTest, EachGroupHasItsShare) {
  const MixingSampler sampler({100, 50, 1000}, {0.5, 0.3, 0.2}, 40);
  EXPECT_EQ(sampler.shares(), (Values{20, 12, 8}));
  for (int64_t number = 0; number < 3; ++number) {
    const Values indices = epoch(sampler, 7, number);
    EXPECT_EQ(indices.size(), 40u);
    EXPECT_EQ(count_between(indices, 0, 100), 20);
    EXPECT_EQ(count_between(indices, 100, 150), 12);
    EXPECT_EQ(count_between(indices, 150, 1150), 8);
    EXPECT_EQ(std::set<int64_t>(indices.begin(), indices.end()).size(), 40u);
  }
}

TEST(MixingSamplerTest, RoundsSharesToWholeSamples) {
  EXPECT_EQ(MixingSampler({9, 9, 9}, {1, 1, 1}, 10).shares(), (Values{4, 3, 3}));
  EXPECT_EQ(MixingSampler({9, 9}, {0.74, 0.26}, 10).shares(), (Values{7, 3}));
  EXPECT_EQ(MixingSampler({9, 9}, {3, 1}, 1000000).shares(), (Values{750000, 250000}));
  EXPECT_EQ(MixingSampler({9, 0}, {2, 0}, 5).shares(), (Values{5, 0}));
  const double huge = std::numeric_limits<double>::max();
  EXPECT_EQ(MixingSampler({9, 9}, {huge, huge}, 4).shares(), (Values{2, 2}));
}

TEST(MixingSamplerTest, NoSampleComesTwiceBeforeAllHaveCome) {
  // 30 of 100 in an epoch: three epochs have 90 different ones, the fourth the last 10 and 20 of the next round.
  const MixingSampler sampler({100, 7}, {3, 1}, 40);
  Values first_group;
  Values second_group;
  for (int64_t number = 0; number < 10; ++number) {
    Values indices = epoch(sampler, 1, number);
    std::sort(indices.begin(), indices.end());
    for (const int64_t index : indices) (index < 100 ? first_group : second_group).push_back(index);
    if (number == 2) {
      EXPECT_EQ(std::set<int64_t>(first_group.begin(), first_group.end()).size(), 90u);
    }
  }
  for (int64_t index = 0; index < 100; ++index) {
    EXPECT_EQ(std::count(first_group.begin(), first_group.end(), index), 3) << index;
  }
  for (int64_t index = 100; index < 107; ++index) {
    const int64_t count = std::count(second_group.begin(), second_group.end(), index);
    EXPECT_TRUE(count == 14 || count == 15) << index << ": " << count;  // 100 draws of 7
  }
}

TEST(MixingSamplerTest, AShareLargerThanTheGroupRepeatsItEvenly) {
  const Values indices = epoch(MixingSampler({3}, {1}, 10), 4, 0);
  for (int64_t index = 0; index < 3; ++index) EXPECT_GE(std::count(indices.begin(), indices.end(), index), 3);
}

TEST(MixingSamplerTest, OrderIsAFunctionOfSeedAndEpoch) {
  const MixingSampler sampler({1000, 1000}, {1, 1}, 100);
  EXPECT_EQ(epoch(sampler, 3, 5), epoch(sampler, 3, 5));
  EXPECT_NE(epoch(sampler, 3, 5), epoch(sampler, 4, 5));
  EXPECT_NE(epoch(sampler, 3, 5), epoch(sampler, 3, 6));
  // Groups of one size and rounds of one group have permutations of their own.
  Values first;
  Values second;
  for (const int64_t index : epoch(MixingSampler({50, 50}, {1, 1}, 100), 3, 0)) {
    (index < 50 ? first : second).push_back(index % 50);
  }
  EXPECT_NE(first, second);
}

TEST(MixingSamplerTest, GroupsAreMixedOverTheEpoch) {
  const Values indices = epoch(MixingSampler({1000, 1000}, {1, 1}, 1000), 9, 0);
  for (size_t begin = 0; begin < 1000; begin += 100) {
    const Values part(indices.begin() + static_cast<int64_t>(begin),
                      indices.begin() + static_cast<int64_t>(begin) + 100);
    EXPECT_NEAR(count_between(part, 0, 1000), 50, 30);  // six standard deviations of a binomial variable
  }
}

TEST(MixingSamplerTest, LoaderDealsItAmongRanksAndResumes) {
  const auto dataset = std::make_shared<TensorDataset>(at::arange(30));
  const auto sampler = std::make_shared<MixingSampler>(Values{10, 20}, std::vector<double>{1, 3}, 16);
  const auto make = [&](int64_t rank, int64_t world_size, int64_t num_workers) {
    auto loader = std::make_unique<DatasetLoader>(
        dataset, LoaderOptions{.batch_size = 2, .num_workers = num_workers, .sampler = sampler});
    loader->attach({.seed = 5, .rank = rank, .world_size = world_size});
    loader->start_epoch(1);
    return loader;
  };
  const auto rest = [](DatasetLoader& loader) {
    std::vector<Values> batches;
    while (const auto batch = loader.next()) batches.push_back(values_of(batch->tensor()));
    return batches;
  };
  const std::vector<Values> expected = rest(*make(0, 1, 0));
  ASSERT_EQ(expected.size(), 8u);
  EXPECT_EQ(rest(*make(0, 1, 4)), expected);
  for (const int64_t rank : {0, 1}) {
    const std::vector<Values> share = rest(*make(rank, 2, 2));
    ASSERT_EQ(share.size(), 4u);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(share[i], expected[2 * i + static_cast<size_t>(rank)]);
  }
  const auto stopped = make(0, 1, 2);
  for (int i = 0; i < 3; ++i) stopped->next();
  const auto resumed = make(0, 1, 0);
  resumed->load_state(stopped->state());
  EXPECT_EQ(rest(*resumed), std::vector<Values>(expected.begin() + 3, expected.end()));
}

TEST(MixingSamplerTest, RefusesWhatDoesNotFitTogether) {
  const auto text = [](const Values& sizes, const std::vector<double>& weights, int64_t count) {
    return error_text<ConfigError>([&] { MixingSampler(sizes, weights, count); });
  };
  EXPECT_THAT(text({1, 1}, {1}, 5), HasSubstr("each of the 2 groups, got 1"));
  EXPECT_THAT(text({}, {}, 5), HasSubstr("got 0"));
  EXPECT_THAT(text({1}, {-1}, 5), HasSubstr("got -1 for group 0"));
  EXPECT_THAT(text({1, 1}, {1, std::numeric_limits<double>::quiet_NaN()}, 5), HasSubstr("for group 1"));
  EXPECT_THAT(text({1, 1}, {0, 0}, 5), HasSubstr("all are 0"));
  EXPECT_THAT(text({1}, {1}, 0), HasSubstr("got 0"));
  EXPECT_THAT(text({1, 1}, {1000, 1}, 5), HasSubstr("group 1 of weight 1 has no share in an epoch of 5 samples"));
  EXPECT_THAT(error_text<DataError>([] { MixingSampler({5, 0}, {1, 1}, 4); }), HasSubstr("group 1 must have samples"));
}

}  // namespace
}  // namespace levin
