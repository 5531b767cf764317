#include "trainer/data/torch_dataset.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/data/datasets/map.h>
#include <torch/data/datasets/tensor.h>
#include <torch/data/transforms/stack.h>

#include <atomic>
#include <memory>
#include <stdexcept>

#include "tests/trainer/core/error_text.h"
#include "trainer/data/dataset_loader.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Example i is ([i, i], 10 i). Notices when two threads read from it at once.
class Pairs : public torch::data::datasets::Dataset<Pairs> {
 public:
  explicit Pairs(size_t size) : size_(size) {}
  Pairs(const Pairs& other) : torch::data::datasets::Dataset<Pairs>(other), size_(other.size_) {}

  torch::data::Example<> get(size_t index) override {
    if (is_read_.exchange(true)) throw std::runtime_error("two threads read at once");
    if (index == broken_index) throw std::runtime_error("example is broken");
    const auto value = static_cast<double>(index);
    torch::data::Example<> example(at::full({2}, value), at::full({}, 10.0 * value));
    is_read_ = false;
    return example;
  }
  std::optional<size_t> size() const override { return size_; }

  static inline size_t broken_index = SIZE_MAX;

 private:
  size_t size_;
  std::atomic<bool> is_read_ = false;
};

class Unsized : public torch::data::datasets::Dataset<Unsized> {
 public:
  torch::data::Example<> get(size_t /*index*/) override { return {}; }
  std::optional<size_t> size() const override { return std::nullopt; }
};

const std::vector<int64_t> kIndices = {3, 0, 2};

TEST(TorchDatasetTest, StacksExamples) {
  const auto dataset = from_torch(Pairs(5));
  EXPECT_EQ(dataset->size(), 5);
  const Batch batch = dataset->get_batch(kIndices, {});
  EXPECT_TRUE(batch[0].tensor().equal(at::stack({at::full({2}, 3.0), at::full({2}, 0.0), at::full({2}, 2.0)})));
  EXPECT_TRUE(batch[1].tensor().equal(at::tensor({30.0, 0.0, 20.0})));
  const std::vector<Batch> samples = dataset->get_samples(kIndices, {});
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_TRUE(samples[0][0].tensor().equal(at::full({2}, 3.0)));
}

TEST(TorchDatasetTest, TakesBatchesThatAreStackedAlready) {
  const auto dataset = from_torch(Pairs(5).map(torch::data::transforms::Stack<>()));
  const Batch batch = dataset->get_batch(kIndices, {});
  EXPECT_TRUE(batch[1].tensor().equal(at::tensor({30.0, 0.0, 20.0})));
  EXPECT_TRUE(dataset->get_samples(kIndices, {})[2][1].tensor().equal(at::full({}, 20.0)));
}

TEST(TorchDatasetTest, TakesDataWithoutTarget) {
  const auto dataset = from_torch(torch::data::datasets::TensorDataset(at::arange(8).view({4, 2})));
  EXPECT_EQ(dataset->size(), 4);
  EXPECT_TRUE(dataset->get_batch(kIndices, {}).tensor().equal(at::tensor({6, 7, 0, 1, 4, 5}).view({3, 2})));
}

TEST(TorchDatasetTest, NeedsASize) {
  EXPECT_THAT(error_text<DataError>([] { from_torch(Unsized()); }), HasSubstr("size()"));
}

TEST(TorchDatasetTest, WorkersReadFromCopiesOfTheirOwn) {
  DatasetLoader loader(from_torch(Pairs(400)), {.batch_size = 4, .num_workers = 4});
  for (int64_t i = 0; i < 100; ++i) {
    const std::optional<Batch> batch = loader.next();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ((*batch)[1].tensor()[0].item<double>(), 40.0 * static_cast<double>(i));
  }
  EXPECT_FALSE(loader.next().has_value());
}

TEST(TorchDatasetTest, ErrorsNameTheWorker) {
  Pairs::broken_index = 5;
  DatasetLoader loader(from_torch(Pairs(8)), {.batch_size = 4, .num_workers = 2});
  loader.next();
  EXPECT_THAT(error_text<DataError>([&] { loader.next(); }),
              AllOf(HasSubstr("example is broken"), HasSubstr("worker")));
  Pairs::broken_index = SIZE_MAX;
}

}  // namespace
}  // namespace levin
