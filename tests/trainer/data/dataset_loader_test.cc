#include "trainer/data/dataset_loader.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using Values = std::vector<int64_t>;
using Batches = std::vector<Values>;

// Sample i is the number i.
std::shared_ptr<const Dataset> numbers(int64_t size) { return std::make_shared<TensorDataset>(at::arange(size)); }

Values values_of(const Batch& batch) {
  const at::Tensor tensor = batch.tensor().contiguous();
  return Values(tensor.const_data_ptr<int64_t>(), tensor.const_data_ptr<int64_t>() + tensor.numel());
}

Batches rest(DatasetLoader& loader) {
  Batches result;
  while (const std::optional<Batch> batch = loader.next()) result.push_back(values_of(*batch));
  return result;
}

Batches epoch(DatasetLoader& loader, int64_t number) {
  loader.start_epoch(number);
  return rest(loader);
}

DatasetLoader shuffled(uint64_t seed, int64_t size = 10, int64_t batch_size = 3) {
  DatasetLoader loader(numbers(size), {.batch_size = batch_size, .shuffle = true});
  loader.attach({.seed = seed});
  return loader;
}

TEST(DatasetLoaderTest, DeliversInOrderWithAPartialLastBatch) {
  DatasetLoader loader(numbers(7), {.batch_size = 3});
  EXPECT_EQ(loader.num_batches(), 3);
  EXPECT_EQ(epoch(loader, 0), (Batches{{0, 1, 2}, {3, 4, 5}, {6}}));
  EXPECT_EQ(epoch(loader, 1), (Batches{{0, 1, 2}, {3, 4, 5}, {6}}));
}

TEST(DatasetLoaderTest, DropLastLeavesOutThePartialBatch) {
  DatasetLoader loader(numbers(7), {.batch_size = 3, .drop_last = true});
  EXPECT_EQ(loader.num_batches(), 2);
  EXPECT_EQ(epoch(loader, 0), (Batches{{0, 1, 2}, {3, 4, 5}}));
}

TEST(DatasetLoaderTest, DropLastKeepsAFullLastBatch) {
  DatasetLoader loader(numbers(6), {.batch_size = 3, .drop_last = true});
  EXPECT_EQ(epoch(loader, 0), (Batches{{0, 1, 2}, {3, 4, 5}}));
}

TEST(DatasetLoaderTest, ABatchLargerThanTheDatasetIsTheDataset) {
  for (const int64_t batch_size : {int64_t{5}, std::numeric_limits<int64_t>::max()}) {
    DatasetLoader loader(numbers(2), {.batch_size = batch_size});
    EXPECT_EQ(loader.num_batches(), 1);
    EXPECT_EQ(epoch(loader, 0), (Batches{{0, 1}}));
  }
}

TEST(DatasetLoaderTest, StaysAtTheEndOfTheEpoch) {
  DatasetLoader loader(numbers(1), {});
  EXPECT_EQ(epoch(loader, 0), (Batches{{0}}));
  EXPECT_FALSE(loader.next().has_value());
}

TEST(DatasetLoaderTest, AnEpochMayBeLeftEarly) {
  DatasetLoader loader(numbers(4), {.batch_size = 2});
  loader.start_epoch(0);
  loader.next();
  EXPECT_EQ(epoch(loader, 1), (Batches{{0, 1}, {2, 3}}));
}

TEST(DatasetLoaderTest, ShuffleDependsOnSeedAndEpochAlone) {
  DatasetLoader loader = shuffled(1);
  DatasetLoader other = shuffled(1);
  const Batches third = epoch(loader, 3);
  EXPECT_EQ(epoch(other, 3), third);  // without epochs 0 to 2
  epoch(loader, 0);
  EXPECT_EQ(epoch(loader, 3), third);
}

TEST(DatasetLoaderTest, ShuffleDiffersBetweenEpochsAndSeeds) {
  DatasetLoader loader = shuffled(1);
  DatasetLoader other = shuffled(2);
  const Batches first = epoch(loader, 0);
  EXPECT_NE(epoch(loader, 1), first);
  EXPECT_NE(epoch(other, 0), first);
}

TEST(DatasetLoaderTest, ShuffleDeliversEachSampleOnce) {
  DatasetLoader loader = shuffled(1);
  Values all;
  for (const Values& batch : epoch(loader, 0)) all.insert(all.end(), batch.begin(), batch.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(DatasetLoaderTest, KnowsWhichSamplesItHasDeliveredLast) {
  DatasetLoader loader = shuffled(1);
  EXPECT_TRUE(loader.sample_indices().empty());
  loader.start_epoch(2);
  EXPECT_TRUE(loader.sample_indices().empty());
  int64_t num_batches = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    const std::span<const int64_t> indices = loader.sample_indices();
    EXPECT_EQ(Values(indices.begin(), indices.end()), values_of(*batch));  // sample i is the number i
    ++num_batches;
  }
  EXPECT_EQ(num_batches, 4);
  EXPECT_EQ(loader.sample_indices().size(), 1u);  // at the end, still those of the last batch
}

TEST(DatasetLoaderTest, ResumesAtEachBatch) {
  for (const bool shuffle : {false, true}) {
    const LoaderOptions options{.batch_size = 3, .shuffle = shuffle};
    DatasetLoader whole(numbers(10), options);
    whole.attach({.seed = 5});
    const Batches expected = epoch(whole, 2);
    for (size_t delivered = 0; delivered <= expected.size(); ++delivered) {
      DatasetLoader first(numbers(10), options);
      first.attach({.seed = 5});
      first.start_epoch(2);
      for (size_t i = 0; i < delivered; ++i) first.next();

      DatasetLoader second(numbers(10), options);
      second.attach({.seed = 5});
      second.load_state(first.state());
      EXPECT_EQ(rest(second), Batches(expected.begin() + static_cast<std::ptrdiff_t>(delivered), expected.end()));
    }
  }
}

TEST(DatasetLoaderTest, StateCountsDeliveredBatches) {
  DatasetLoader loader(numbers(10), {.batch_size = 3, .num_workers = 2, .prefetch_factor = 4});
  loader.start_epoch(4);
  loader.next();
  loader.next();
  const StateDict state = loader.state();
  EXPECT_EQ(state.integer("epoch"), 4);
  EXPECT_EQ(state.integer("batches_delivered"), 2);
  EXPECT_EQ(state.integer("units_delivered"), 6);
  EXPECT_EQ(state.integer("dataset_size"), 10);
}

// PyTorch's issue 36650: samples 10, batch size 2, stop after batch 2.
TEST(DatasetLoaderTest, ResumesExactlyForEveryNumberOfWorkers) {
  DatasetLoader whole = shuffled(1, 10, 2);
  const Batches expected = epoch(whole, 0);
  for (const int64_t before : {0, 2, 4}) {
    for (const int64_t after : {0, 2, 4}) {
      LoaderOptions options{.batch_size = 2, .shuffle = true, .num_workers = before, .prefetch_factor = 4};
      DatasetLoader first(numbers(10), options);
      first.attach({.seed = 1});
      first.start_epoch(0);
      EXPECT_EQ(values_of(*first.next()), expected[0]);
      EXPECT_EQ(values_of(*first.next()), expected[1]);
      options.num_workers = after;
      DatasetLoader second(numbers(10), options);
      second.attach({.seed = 1});
      second.load_state(first.state());
      EXPECT_EQ(second.num_batches(), 5);
      EXPECT_EQ(rest(second), Batches(expected.begin() + 2, expected.end())) << before << " " << after;
    }
  }
}

TEST(DatasetLoaderTest, ResumesWithAnotherBatchSize) {
  DatasetLoader first(numbers(10), {.batch_size = 3});
  first.start_epoch(0);
  first.next();
  DatasetLoader second(numbers(10), {.batch_size = 4});
  second.load_state(first.state());
  EXPECT_EQ(second.num_batches(), 3);  // the one before, and two
  EXPECT_EQ(rest(second), (Batches{{3, 4, 5, 6}, {7, 8, 9}}));
  EXPECT_EQ(second.state().integer("batches_delivered"), 3);
  second.start_epoch(1);
  EXPECT_EQ(second.num_batches(), 3);
}

TEST(DatasetLoaderTest, DeliversTheSameWithWorkers) {
  DatasetLoader alone = shuffled(1, 1000, 7);
  const Batches expected = epoch(alone, 1);
  for (const int64_t workers : {1, 2, 5}) {
    DatasetLoader loader(numbers(1000), {.batch_size = 7, .shuffle = true, .num_workers = workers});
    loader.attach({.seed = 1});
    EXPECT_EQ(epoch(loader, 1), expected) << workers;
    EXPECT_FALSE(loader.next().has_value());
    EXPECT_EQ(epoch(loader, 1), expected) << workers << ", again";
  }
}

TEST(DatasetLoaderTest, StopKeepsThePosition) {
  DatasetLoader loader(numbers(6), {.batch_size = 2, .num_workers = 2});
  loader.start_epoch(0);
  loader.next();
  loader.stop();
  EXPECT_EQ(rest(loader), (Batches{{2, 3}, {4, 5}}));
}

TEST(DatasetLoaderTest, ACollateFunctionSeesSampleBySample) {
  const Collate collate = [](std::span<const Batch> samples) {
    EXPECT_EQ(samples.front().tensor().dim(), 0);
    return Batch(at::scalar_tensor(static_cast<int64_t>(samples.size()), at::kLong));
  };
  DatasetLoader loader(numbers(5), {.batch_size = 3, .collate = collate});
  EXPECT_EQ(epoch(loader, 0), (Batches{{3}, {2}}));
}

TEST(DatasetLoaderTest, EqualRanksHaveBatchesOfEqualSizes) {
  std::vector<Batches> ranks;
  for (const int64_t rank : {0, 1}) {
    DatasetLoader loader(numbers(7), {.batch_size = 2});
    loader.attach({.rank = rank, .world_size = 2, .has_equal_ranks = true});
    EXPECT_EQ(loader.num_batches(), 2);
    ranks.push_back(epoch(loader, 0));
  }
  EXPECT_EQ(ranks[0], (Batches{{0, 1}, {4, 5}}));
  EXPECT_EQ(ranks[1], (Batches{{2, 3}, {6, 0}}));  // filled from the start
}

TEST(DatasetLoaderTest, EvaluationDealsEachSampleOnce) {
  Values all;
  for (const int64_t rank : {0, 1, 2}) {
    DatasetLoader loader(numbers(8), {.batch_size = 2});
    loader.attach({.rank = rank, .world_size = 3, .has_equal_ranks = false});
    for (const Values& batch : epoch(loader, 0)) all.insert(all.end(), batch.begin(), batch.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (Values{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(DatasetLoaderTest, ARunInOrderRepeatsTheSamplersFirstEpoch) {
  const auto sampler = std::make_shared<RandomSampler>(10);
  DatasetLoader loader(numbers(10), {.batch_size = 4, .sampler = sampler});
  loader.attach({.seed = 3, .is_in_order = true});
  EXPECT_EQ(epoch(loader, 1), epoch(loader, 0));
  loader.attach({.seed = 3});
  EXPECT_NE(epoch(loader, 1), epoch(loader, 0));
}

TEST(DatasetLoaderTest, APositionOfOtherDataIsAnError) {
  const StateDict state = DatasetLoader(numbers(10), {.batch_size = 3}).state();
  DatasetLoader longer(numbers(11), {.batch_size = 3});
  EXPECT_EQ(error_text<CheckpointError>([&] { longer.load_state(state); }),
            "[DatasetLoader] the saved position is for 10 samples, 10 units of the sampler, but this loader has 11 "
            "samples, 11 units.");
}

TEST(DatasetLoaderTest, APositionOutsideTheEpochIsAnError) {
  DatasetLoader loader(numbers(10), {.batch_size = 3});
  for (const int64_t position : {-1, 11}) {
    StateDict state = loader.state();
    state.replace("units_delivered", position);
    EXPECT_EQ(error_text<CheckpointError>([&] { loader.load_state(state); }),
              "[DatasetLoader] the saved position is " + std::to_string(position) +
                  " of 10 units, after 0 batches, which cannot be.");
  }
}

TEST(DatasetLoaderTest, AnEmptyStateIsAnError) {
  DatasetLoader loader(numbers(10), {.batch_size = 3});
  EXPECT_EQ(error_text<CheckpointError>([&] { loader.load_state({}); }),
            "[StateDict] the saved state has no entry \"epoch\" (an integer expected).");
}

TEST(DatasetLoaderTest, ASamplerDecidesTheOrderAlone) {
  const auto sampler = std::make_shared<SequentialSampler>(3);
  EXPECT_EQ(error_text<ConfigError>([&] { DatasetLoader(numbers(3), {.shuffle = true, .sampler = sampler}); }),
            "[DatasetLoader] shuffle must be false where a sampler is given, which decides the order.");
}

TEST(DatasetLoaderTest, BatchSizeMustBePositive) {
  EXPECT_EQ(error_text<ConfigError>([] { DatasetLoader(numbers(3), {.batch_size = 0}); }),
            "[DatasetLoader] batch_size must be >= 1, got 0.");
  EXPECT_EQ(error_text<ConfigError>([] { DatasetLoader(numbers(3), {.batch_size = -2}); }),
            "[DatasetLoader] batch_size must be >= 1, got -2.");
}

TEST(DatasetLoaderTest, AnEmptyDatasetIsAnError) {
  EXPECT_EQ(error_text<DataError>([] { DatasetLoader(numbers(0), {}); }),
            "[DatasetLoader] the dataset has no samples.");
}

TEST(DatasetLoaderTest, NoFullBatchIsAnErrorWithDropLast) {
  EXPECT_EQ(error_text<DataError>([] { DatasetLoader(numbers(3), {.batch_size = 4, .drop_last = true}); }),
            "[DatasetLoader] the dataset's 3 samples make no full batch of 4, and drop_last is set.");
}

// A step that changes its batch in place must not change the data.
TEST(TakeRowsTest, RowsAreACopy) {
  const at::Tensor tensor = at::arange(8).view({4, 2});
  for (const Values& indices : {Values{1, 2}, Values{3, 0, 3}}) {
    EXPECT_FALSE(take_rows(tensor, indices).is_alias_of(tensor));
  }
  EXPECT_EQ(values_of(take_rows(tensor, Values{3, 0, 3})), (Values{6, 7, 0, 1, 6, 7}));
}

TEST(TakeRowsTest, TheOrderAndAmountOfMemoryDoNotMatter) {
  const at::Tensor tensor = at::arange(8).view({2, 4});
  EXPECT_EQ(values_of(take_rows(tensor.t(), Values{2, 0})), (Values{2, 6, 0, 4}));
  const at::Tensor large = at::arange(400000).view({4, 100000});
  EXPECT_TRUE(take_rows(large, Values{3, 1}).equal(large.flip(0).slice(0, 0, 4, 2)));
}

TEST(TakeRowsTest, ARowThatIsNotThereIsAnError) {
  const at::Tensor tensor = at::arange(8).view({4, 2});
  EXPECT_THROW(take_rows(tensor, Values{4}), c10::Error);
  EXPECT_THROW(take_rows(tensor, Values{-1}), c10::Error);
}

TEST(TakeRowsTest, NoRowsAreAnEmptyTensor) {
  EXPECT_EQ(take_rows(at::arange(8).view({4, 2}), {}).sizes(), at::IntArrayRef({0, 2}));
}

TEST(TensorDatasetTest, KeepsTheTreeOfItsSamples) {
  const TensorDataset dataset(Batch::Fields{{"x", at::zeros({5, 2})}, {"y", at::arange(5)}});
  EXPECT_EQ(dataset.size(), 5);
  const Values indices = {4, 0};
  const Batch batch = dataset.get_batch(indices, {});
  EXPECT_EQ(batch.describe(), "{x: float32 [2, 2], y: int64 [2]}");
  EXPECT_EQ(values_of(batch["y"]), (Values{4, 0}));
}

TEST(TensorDatasetTest, TensorsOfDifferentLengthAreAnError) {
  EXPECT_EQ(error_text<DataError>([] {
              TensorDataset(Batch::of(at::zeros({5, 2}), at::arange(4)));
            }),
            "[TensorDataset] every tensor must have 5 samples in its first dimension, got int64 [4].");
  EXPECT_EQ(error_text<DataError>([] { TensorDataset(Batch::of(at::zeros({5}), at::zeros({}))); }),
            "[TensorDataset] every tensor must have 5 samples in its first dimension, got float32 [].");
}

TEST(TensorDatasetTest, NoTensorIsAnError) {
  EXPECT_EQ(error_text<DataError>([] { TensorDataset{Batch()}; }), "[Batch] an empty batch has no batch size.");
}

}  // namespace
}  // namespace levin
