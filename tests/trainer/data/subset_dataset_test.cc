#include "trainer/data/subset_dataset.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/counting_stream.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using Values = std::vector<int64_t>;

TEST(SubsetDatasetTest, HasTheSamplesOfItsIndices) {
  const SubsetDataset subset(std::make_shared<TensorDataset>(at::arange(100, 110)), {9, 0, 4, 4});
  EXPECT_EQ(subset.size(), 4);
  EXPECT_EQ(numbers_of(subset.get_batch(Values{3, 0, 1}, {})), (Values{104, 109, 100}));
  const std::vector<Batch> samples = subset.get_samples(Values{1, 2}, {});
  EXPECT_EQ(numbers_of(samples[0]), (Values{100}));
  EXPECT_EQ(numbers_of(samples[1]), (Values{104}));
}

/// A sample is what it draws.
class RandomDataset final : public SampleDataset {
 public:
  int64_t size() const override { return 10; }
  Batch get_sample(int64_t /*index*/, RandomStream& random) const override {
    return Batch(at::tensor(random.below(1 << 30), at::kLong));
  }
};

TEST(SubsetDatasetTest, RandomTransformsDrawWhatTheyDrawInTheWhole) {
  const auto whole = std::make_shared<RandomDataset>();
  const SubsetDataset subset(whole, {7, 2});
  const SampleRandom random{.seed = 5, .epoch = 1};
  EXPECT_EQ(numbers_of(subset.get_batch(Values{0, 1}, random)), numbers_of(whole->get_batch(Values{7, 2}, random)));
}

TEST(SubsetDatasetTest, AnIndexOutsideOfTheDatasetIsAnError) {
  for (const int64_t index : {-1, 10}) {
    EXPECT_EQ(error_text<DataError>([&] {
                SubsetDataset(std::make_shared<RandomDataset>(), {3, index});
              }),
              "[SubsetDataset] an index must be in [0, 10), the samples of the dataset, got " + std::to_string(index) +
                  " at position 1.");
  }
}

}  // namespace
}  // namespace levin
