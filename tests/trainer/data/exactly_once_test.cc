// What all ranks together deliver in an epoch that is resumed with another number of ranks, for each kind of loader.

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "tests/trainer/data/counting_stream.h"
#include "trainer/data/batch_sampler.h"
#include "trainer/data/dataset_loader.h"
#include "trainer/data/iterable_loader.h"

namespace levin {
namespace {

using Values = std::vector<int64_t>;
using MakeLoader = std::function<std::unique_ptr<DataLoader>()>;

constexpr int64_t kBatch = 2;
constexpr uint64_t kSeed = 7;
constexpr int64_t kEpoch = 3;

std::vector<std::unique_ptr<DataLoader>> make_ranks(const MakeLoader& make, int64_t world_size, bool has_equal_ranks) {
  std::vector<std::unique_ptr<DataLoader>> ranks;
  for (int64_t rank = 0; rank < world_size; ++rank) {
    ranks.push_back(make());
    ranks.back()->attach({.seed = kSeed, .rank = rank, .world_size = world_size, .has_equal_ranks = has_equal_ranks});
    ranks.back()->start_epoch(kEpoch);
  }
  return ranks;
}

/// Delivers up to `count` batches of each rank; returns the largest number that one had.
int64_t deliver(std::vector<std::unique_ptr<DataLoader>>& ranks, int64_t count, Values& values) {
  int64_t most = 0;
  for (const auto& rank : ranks) {
    int64_t delivered = 0;
    while (delivered < count) {
      const std::optional<Batch> batch = rank->next();
      if (!batch) break;
      const Values numbers = numbers_of(*batch);
      values.insert(values.end(), numbers.begin(), numbers.end());
      ++delivered;
    }
    most = std::max(most, delivered);
  }
  return most;
}

constexpr int64_t kAll = 1000;

Values whole_epoch(const MakeLoader& make) {
  auto ranks = make_ranks(make, 1, false);
  Values values;
  deliver(ranks, kAll, values);
  std::ranges::sort(values);
  return values;
}

struct Resumed {
  Values values;         // of both runs, sorted
  int64_t position = 0;  // batches of each rank before the change
  bool has_stopped_early = true;
};

Resumed resume(const MakeLoader& make, int64_t before, int64_t after, int64_t count, bool has_equal_ranks) {
  auto first = make_ranks(make, before, has_equal_ranks);
  Resumed result;
  result.position = deliver(first, count, result.values);
  result.has_stopped_early = result.position == count;
  const StateDict state = first.front()->state();
  auto second = make_ranks(make, after, has_equal_ranks);
  for (const auto& rank : second) rank->load_state(state);
  deliver(second, kAll, result.values);
  std::ranges::sort(result.values);
  return result;
}

/// Each sample exactly once, whatever the ranks, at each batch of the epoch.
void expect_evaluated_once(const MakeLoader& make) {
  const Values expected = whole_epoch(make);
  for (int64_t before = 1; before <= 4; ++before) {
    for (int64_t after = 1; after <= 4; ++after) {
      bool has_more = true;
      for (int64_t count = 0; has_more; ++count) {
        const Resumed resumed = resume(make, before, after, count, /*has_equal_ranks=*/false);
        ASSERT_EQ(resumed.values, expected) << before << " ranks, then " << after << ", after " << count << " batches";
        has_more = resumed.has_stopped_early;
      }
    }
  }
}

/// num_units: of the epoch, each of which a batch of one rank has `units_per_batch`. Once each where the ranks divide
/// what is left; at least once, and fewer than one double unit for each rank, where not.
void expect_trained_once(const MakeLoader& make, int64_t num_units, int64_t units_per_batch, bool wraps = true) {
  const Values expected = whole_epoch(make);
  int num_exact = 0;
  for (int64_t before = 1; before <= 4; ++before) {
    for (int64_t after = 1; after <= 4; ++after) {
      for (int64_t count = 0; count * before * units_per_batch <= num_units; ++count) {
        const Values values = resume(make, before, after, count, /*has_equal_ranks=*/true).values;
        const int64_t left = num_units - count * before * units_per_batch;
        const std::string where = std::to_string(before) + " ranks, then " + std::to_string(after) + ", after " +
                                  std::to_string(count) + " batches";
        if (left % (after * units_per_batch) == 0) {
          ++num_exact;
          ASSERT_EQ(values, expected) << where;
        } else if (wraps) {
          ASSERT_TRUE(std::ranges::includes(values, expected)) << where;
        } else {
          ASSERT_TRUE(std::ranges::includes(expected, values)) << where;
        }
      }
    }
  }
  EXPECT_GT(num_exact, 30);
}

/// Numbers 0 ... size - 1; `workers` threads.
MakeLoader map_style(int64_t size, LoaderOptions options) {
  options.batch_size = kBatch;
  return [=] { return std::make_unique<DatasetLoader>(std::make_shared<TensorDataset>(at::arange(size)), options); };
}

MakeLoader iterable(int64_t size, CountingOptions stream, int64_t num_workers) {
  return [=] {
    return std::make_unique<IterableLoader>(std::make_shared<CountingDataset>(size, stream),
                                            LoaderOptions{.batch_size = kBatch, .num_workers = num_workers});
  };
}

/// 60 samples of different lengths in 15 batches.
std::shared_ptr<const Sampler> length_sampler() {
  Values lengths;
  for (int64_t i = 0; i < 60; ++i) lengths.push_back(i * 7 % 12 + 1);
  return std::make_shared<LengthSampler>(lengths, LengthSamplerOptions{.batch_size = 4, .bucket_size = 20});
}

std::shared_ptr<const Sampler> weighted_sampler(int64_t num_samples, bool with_replacement) {
  std::vector<double> weights;
  for (int i = 0; i < 30; ++i) weights.push_back(1.0 + i % 5);
  return std::make_shared<WeightedSampler>(weights, num_samples, with_replacement);
}

class ExactlyOnceTest : public testing::TestWithParam<int64_t> {};

TEST_P(ExactlyOnceTest, EvaluationInOrder) { expect_evaluated_once(map_style(23, {.num_workers = GetParam()})); }

TEST_P(ExactlyOnceTest, EvaluationShuffled) {
  expect_evaluated_once(map_style(23, {.shuffle = true, .num_workers = GetParam()}));
}

TEST_P(ExactlyOnceTest, EvaluationOfBatchesByLength) {
  expect_evaluated_once(map_style(60, {.num_workers = GetParam(), .sampler = length_sampler()}));
}

TEST_P(ExactlyOnceTest, EvaluationOfAnIterableDataset) {
  for (const bool has_state : {false, true}) {
    expect_evaluated_once(iterable(23, {.has_state = has_state}, GetParam()));
  }
}

TEST_P(ExactlyOnceTest, TrainingShuffled) {
  expect_trained_once(map_style(24, {.shuffle = true, .num_workers = GetParam()}), 24, kBatch);
}

TEST_P(ExactlyOnceTest, TrainingOfBatchesByLength) {
  expect_trained_once(map_style(60, {.num_workers = GetParam(), .sampler = length_sampler()}), 15, 1);
}

TEST_P(ExactlyOnceTest, TrainingWithWeights) {
  for (const bool with_replacement : {false, true}) {
    expect_trained_once(map_style(30, {.num_workers = GetParam(), .sampler = weighted_sampler(24, with_replacement)}),
                        24, kBatch);
  }
}

TEST_P(ExactlyOnceTest, TrainingOfAnIterableDataset) {
  for (const bool has_state : {false, true}) {
    expect_trained_once(iterable(24, {.has_state = has_state}, GetParam()), 24, kBatch, /*wraps=*/false);
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, ExactlyOnceTest, testing::Values(0, 2));

TEST(ExactlyOnceTest, TwoChangesOfRanksWithinAnEpoch) {
  const MakeLoader make = map_style(23, {.shuffle = true});
  Values values;
  auto four = make_ranks(make, 4, false);
  deliver(four, 1, values);
  auto three = make_ranks(make, 3, false);
  for (const auto& rank : three) rank->load_state(four.front()->state());
  deliver(three, 1, values);
  auto one = make_ranks(make, 1, false);
  one.front()->load_state(three.front()->state());
  EXPECT_EQ(one.front()->num_batches(), 1 + 1 + 5);  // 9 samples are left
  deliver(one, kAll, values);
  std::ranges::sort(values);
  EXPECT_EQ(values, whole_epoch(make));
}

}  // namespace
}  // namespace levin
