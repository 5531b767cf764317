#include "trainer/data/dataset_loader.h"

#include <ATen/ops/arange.h>
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
  DatasetLoader loader(numbers(10), {.batch_size = 3});
  loader.start_epoch(4);
  loader.next();
  loader.next();
  const StateDict state = loader.state();
  EXPECT_EQ(state.integer("epoch"), 4);
  EXPECT_EQ(state.integer("batches_delivered"), 2);
  EXPECT_EQ(state.integer("batch_size"), 3);
  EXPECT_EQ(state.integer("dataset_size"), 10);
}

TEST(DatasetLoaderTest, APositionOfOtherDataIsAnError) {
  const StateDict state = DatasetLoader(numbers(10), {.batch_size = 3}).state();
  DatasetLoader larger(numbers(10), {.batch_size = 4});
  EXPECT_EQ(error_text<CheckpointError>([&] { larger.load_state(state); }),
            "[DatasetLoader] the saved position is for 10 samples in batches of 3, but this loader has 10 samples in "
            "batches of 4.");
  DatasetLoader longer(numbers(11), {.batch_size = 3});
  EXPECT_EQ(error_text<CheckpointError>([&] { longer.load_state(state); }),
            "[DatasetLoader] the saved position is for 10 samples in batches of 3, but this loader has 11 samples in "
            "batches of 3.");
}

TEST(DatasetLoaderTest, APositionOutsideTheEpochIsAnError) {
  DatasetLoader loader(numbers(10), {.batch_size = 3});
  for (const int64_t position : {-1, 5}) {
    StateDict state;
    state.set("epoch", int64_t{0});
    state.set("batches_delivered", position);
    state.set("batch_size", int64_t{3});
    state.set("dataset_size", int64_t{10});
    EXPECT_EQ(error_text<CheckpointError>([&] { loader.load_state(state); }),
              "[DatasetLoader] the saved position is after " + std::to_string(position) +
                  " batches, but an epoch of this loader has 4.");
  }
}

TEST(DatasetLoaderTest, AnEmptyStateIsAnError) {
  DatasetLoader loader(numbers(10), {.batch_size = 3});
  EXPECT_EQ(error_text<CheckpointError>([&] { loader.load_state({}); }),
            "[StateDict] the saved state has no entry \"batch_size\" (an integer expected).");
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

TEST(TakeRowsTest, ConsecutiveRowsAreAView) {
  const at::Tensor tensor = at::arange(12).view({4, 3});
  const Values indices = {1, 2};
  const at::Tensor rows = take_rows(tensor, indices);
  EXPECT_EQ(rows.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(rows.const_data_ptr(), tensor[1].const_data_ptr());
}

TEST(TakeRowsTest, OtherRowsAreACopy) {
  const at::Tensor tensor = at::arange(8).view({4, 2});
  const Values indices = {3, 0, 3};
  const at::Tensor rows = take_rows(tensor, indices);
  EXPECT_EQ(values_of(rows), (Values{6, 7, 0, 1, 6, 7}));
  EXPECT_FALSE(rows.is_alias_of(tensor));
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
