#include "trainer/data/dataset_loader.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

std::shared_ptr<const Dataset> count_to(int64_t size) {
  return std::make_shared<TensorDataset>(Batch(at::arange(size)));
}

using Epoch = std::vector<std::vector<int64_t>>;

Epoch read_rest(DatasetLoader& loader) {
  Epoch epoch;
  while (const auto batch = loader.next()) {
    const at::Tensor& values = batch->tensor();
    epoch.emplace_back(values.const_data_ptr<int64_t>(), values.const_data_ptr<int64_t>() + values.numel());
  }
  return epoch;
}

Epoch read_epoch(DatasetLoader& loader, int64_t epoch) {
  loader.start_epoch(epoch);
  return read_rest(loader);
}

TEST(DatasetLoaderTest, InOrderWithAShortLastBatch) {
  DatasetLoader loader(count_to(5), {.batch_size = 2});
  EXPECT_EQ(*loader.num_batches(), 3);
  EXPECT_EQ(read_epoch(loader, 0), (Epoch{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(read_epoch(loader, 1), (Epoch{{0, 1}, {2, 3}, {4}}));
  EXPECT_FALSE(loader.next().has_value());
}

TEST(DatasetLoaderTest, DropLastLeavesTheShortBatchOut) {
  DatasetLoader loader(count_to(5), {.batch_size = 2, .drop_last = true});
  EXPECT_EQ(*loader.num_batches(), 2);
  EXPECT_EQ(read_epoch(loader, 0), (Epoch{{0, 1}, {2, 3}}));
}

TEST(DatasetLoaderTest, ShuffledOrderComesFromSeedAndEpoch) {
  const LoaderOptions options{.batch_size = 4, .shuffle = true};
  DatasetLoader a(count_to(40), options), b(count_to(40), options), other(count_to(40), options);
  a.attach({.seed = 1});
  b.attach({.seed = 1});
  other.attach({.seed = 2});
  const Epoch first = read_epoch(a, 0);
  EXPECT_NE(read_epoch(a, 1), first);
  EXPECT_EQ(read_epoch(a, 0), first);
  EXPECT_EQ(read_epoch(b, 0), first);
  EXPECT_NE(read_epoch(other, 0), first);
}

TEST(DatasetLoaderTest, AnEpochLeftEarlyDoesNotTouchTheNext) {
  DatasetLoader loader(count_to(6), {.batch_size = 2});
  loader.start_epoch(0);
  loader.next();
  EXPECT_EQ(read_epoch(loader, 1), (Epoch{{0, 1}, {2, 3}, {4, 5}}));
}

// A7: the position counts batches delivered; a new loader goes on behind them.
TEST(DatasetLoaderTest, ResumesBehindTheLastDeliveredBatch) {
  const LoaderOptions options{.batch_size = 2, .shuffle = true};
  DatasetLoader whole(count_to(10), options), stopped(count_to(10), options), resumed(count_to(10), options);
  for (DatasetLoader* loader : {&whole, &stopped, &resumed}) loader->attach({.seed = 1});
  const Epoch epoch = read_epoch(whole, 3);
  stopped.start_epoch(3);
  stopped.next();
  stopped.next();
  resumed.load_state(stopped.state());
  EXPECT_EQ(read_rest(resumed), Epoch(epoch.begin() + 2, epoch.end()));
}

TEST(DatasetLoaderTest, APositionOfAnotherDatasetIsRefused) {
  DatasetLoader saved(count_to(10), {.batch_size = 2});
  DatasetLoader other(count_to(12), {.batch_size = 2});
  const std::string text = error_text<CheckpointError>([&] { other.load_state(saved.state()); });
  EXPECT_NE(text.find("10 samples in batches of 2"), std::string::npos) << text;
  EXPECT_NE(text.find("12 samples in batches of 2"), std::string::npos) << text;
}

TEST(DatasetLoaderTest, BadOptionsAreNamed) {
  EXPECT_EQ(error_text<ConfigError>([] { DatasetLoader(count_to(4), {.batch_size = 0}); }),
            "[DatasetLoader] batch_size must be >= 1, got 0.");
  EXPECT_EQ(error_text<DataError>([] { DatasetLoader(count_to(0), {}); }),
            "[DatasetLoader] the dataset has no samples.");
  EXPECT_EQ(error_text<DataError>([] { DatasetLoader(count_to(4), {.batch_size = 5, .drop_last = true}); }),
            "[DatasetLoader] the dataset's 4 samples make no full batch of 5, and drop_last is set.");
}

TEST(DatasetTest, ConsecutiveRowsAreAView) {
  const at::Tensor data = at::arange(10);
  const std::vector<int64_t> consecutive = {3, 4, 5}, scattered = {5, 3};
  EXPECT_EQ(take_rows(data, consecutive).const_data_ptr<int64_t>(), data.const_data_ptr<int64_t>() + 3);
  const at::Tensor copy = take_rows(data, scattered);
  EXPECT_EQ(copy.const_data_ptr<int64_t>()[0], 5);
  EXPECT_EQ(copy.const_data_ptr<int64_t>()[1], 3);
}

TEST(DatasetTest, LeavesMustAgreeInTheirNumberOfSamples) {
  EXPECT_EQ(error_text<DataError>([] { TensorDataset(Batch::of(at::arange(3), at::arange(4))); }),
            "[TensorDataset] every tensor must have 3 samples in its first dimension, got int64 [4].");
}

}  // namespace
}  // namespace levin
