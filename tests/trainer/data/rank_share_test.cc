#include "trainer/data/rank_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "tests/trainer/data/order_of.h"

namespace levin {
namespace {

using Values = std::vector<int64_t>;
using Batches = std::vector<Values>;

Batches batches_of(const RankShare& share) {
  Batches batches(static_cast<size_t>(share.num_batches()));
  for (size_t i = 0; i < batches.size(); ++i) share.read(static_cast<int64_t>(i), batches[i]);
  return batches;
}

/// Each rank's batches of 0, 1, ... size - 1.
std::vector<Batches> deal(int64_t size, ShareOptions options, int64_t begin = 0) {
  const auto order = SequentialSampler(size).order(0, 0);
  std::vector<Batches> ranks;
  for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
    ranks.push_back(batches_of(RankShare(order, begin, options)));
  }
  return ranks;
}

Values flatten(const std::vector<Batches>& ranks) {
  Values all;
  for (const Batches& batches : ranks) {
    for (const Values& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  }
  std::ranges::sort(all);
  return all;
}

TEST(RankShareTest, EachRoundIsAPrefixOfTheOrder) {
  EXPECT_EQ(deal(8, {.world_size = 2, .units_per_batch = 2}),
            (std::vector<Batches>{{{0, 1}, {4, 5}}, {{2, 3}, {6, 7}}}));
}

TEST(RankShareTest, TrainingFillsTheLastRoundFromTheEpochsStart) {
  EXPECT_EQ(deal(7, {.world_size = 2, .units_per_batch = 2}),
            (std::vector<Batches>{{{0, 1}, {4, 5}}, {{2, 3}, {6, 0}}}));
  EXPECT_EQ(deal(5, {.world_size = 2, .units_per_batch = 4}), (std::vector<Batches>{{{0, 1, 2}}, {{3, 4, 0}}}));
}

TEST(RankShareTest, EvaluationDealsEachUnitOnce) {
  EXPECT_EQ(deal(7, {.world_size = 2, .units_per_batch = 2, .has_equal_ranks = false}),
            (std::vector<Batches>{{{0, 1}, {4, 5}}, {{2, 3}, {6}}}));
  // Fewer units than ranks: the last ranks have none.
  EXPECT_EQ(deal(2, {.world_size = 4, .units_per_batch = 3, .has_equal_ranks = false}),
            (std::vector<Batches>{{{0}}, {{1}}, {}, {}}));
}

TEST(RankShareTest, DropLastLeavesOutWhatFillsNoBatchOnEachRank) {
  EXPECT_EQ(deal(7, {.world_size = 2, .units_per_batch = 2, .drop_last = true}),
            (std::vector<Batches>{{{0, 1}}, {{2, 3}}}));
  EXPECT_EQ(deal(3, {.world_size = 2, .units_per_batch = 2, .drop_last = true}), (std::vector<Batches>{{}, {}}));
}

// One sample for four ranks: padding goes round more than once (field case A4).
TEST(RankShareTest, PaddingWrapsModuloTheSize) {
  EXPECT_EQ(deal(1, {.world_size = 4, .units_per_batch = 1}), (std::vector<Batches>{{{0}}, {{0}}, {{0}}, {{0}}}));
  EXPECT_EQ(deal(3, {.world_size = 8, .units_per_batch = 2}),
            (std::vector<Batches>{{{0}}, {{1}}, {{2}}, {{0}}, {{1}}, {{2}}, {{0}}, {{1}}}));
}

TEST(RankShareTest, EveryUnitIsDealtForAllSizesRanksAndBatches) {
  for (int64_t size = 1; size <= 13; ++size) {
    for (int64_t world_size = 1; world_size <= 5; ++world_size) {
      for (int64_t units_per_batch = 1; units_per_batch <= 4; ++units_per_batch) {
        const std::string where = std::to_string(size) + " " + std::to_string(world_size);
        ShareOptions options{.world_size = world_size, .units_per_batch = units_per_batch, .has_equal_ranks = false};
        EXPECT_EQ(flatten(deal(size, options)), sequential_order(size)) << where;

        options.has_equal_ranks = true;
        const std::vector<Batches> ranks = deal(size, options);
        const Values all = flatten(ranks);
        EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), static_cast<size_t>(size)) << where;
        EXPECT_LT(static_cast<int64_t>(all.size()) - size, world_size) << where;
        for (const Batches& batches : ranks) {
          ASSERT_EQ(batches.size(), ranks.front().size()) << where;
          for (size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(batches[i].size(), ranks.front()[i].size()) << where;
        }
      }
    }
  }
}

TEST(RankShareTest, ABeginLeavesTheRestToAnyNumberOfRanks) {
  EXPECT_EQ(deal(8, {.world_size = 2, .units_per_batch = 1}, 6), (std::vector<Batches>{{{6}}, {{7}}}));
  EXPECT_EQ(deal(8, {.world_size = 3, .units_per_batch = 1, .has_equal_ranks = false}, 4),
            (std::vector<Batches>{{{4}, {7}}, {{5}}, {{6}}}));
  EXPECT_EQ(deal(8, {.world_size = 2, .units_per_batch = 1}, 8), (std::vector<Batches>{{}, {}}));
}

TEST(RankShareTest, DeliveredCountsTheUnitsOfAllRanks) {
  const auto order = SequentialSampler(11).order(0, 0);
  const RankShare share(order, 1, {.world_size = 2, .units_per_batch = 3});
  EXPECT_EQ(share.num_units(), 11);
  EXPECT_EQ(share.num_batches(), 2);
  EXPECT_EQ(share.delivered(0), 1);
  EXPECT_EQ(share.delivered(1), 7);
  EXPECT_EQ(share.delivered(2), 11);  // not 13
}

TEST(RankShareTest, ABatchMayBeLargerThanAllThereIs) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(deal(5, {.world_size = 2, .units_per_batch = kHuge}), (std::vector<Batches>{{{0, 1, 2}}, {{3, 4, 0}}}));
  EXPECT_EQ(deal(5, {.world_size = 1, .units_per_batch = kHuge, .drop_last = true}), (std::vector<Batches>{{}}));
  const RankShare share(SequentialSampler(5).order(0, 0), 1, {.world_size = 3, .units_per_batch = kHuge});
  EXPECT_EQ(share.delivered(0), 1);
  EXPECT_EQ(share.delivered(1), 5);
}

// Field case A4: the union of the ranks is the whole dataset in each epoch, in another order each epoch and seed.
TEST(RankShareTest, RanksShareAnOrderThatEpochAndSeedChange) {
  const RandomSampler sampler(8);
  const auto dealt = [&](uint64_t seed, int64_t epoch) {
    std::vector<Batches> ranks;
    for (int64_t rank = 0; rank < 2; ++rank) {
      ranks.push_back(batches_of(RankShare(sampler.order(seed, epoch), 0, {.rank = rank, .world_size = 2})));
    }
    return ranks;
  };
  for (int64_t epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(flatten(dealt(1, epoch)), sequential_order(8));
  EXPECT_NE(dealt(1, 0), dealt(1, 1));
  EXPECT_NE(dealt(1, 0), dealt(2, 0));
  EXPECT_EQ(dealt(1, 0), dealt(1, 0));
}

TEST(RankShareTest, WhatDropLastLeavesOutChangesFromEpochToEpoch) {
  const RandomSampler sampler(7);
  std::set<int64_t> seen;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    for (int64_t rank = 0; rank < 2; ++rank) {
      const RankShare share(sampler.order(1, epoch), 0, {.rank = rank, .world_size = 2, .drop_last = true});
      EXPECT_EQ(share.num_batches(), 3);
      for (const Values& batch : batches_of(share)) seen.insert(batch.begin(), batch.end());
    }
  }
  EXPECT_EQ(seen.size(), 7u);
}

}  // namespace
}  // namespace levin
