#include "trainer/data/transforms/transformed_dataset.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"
#include "trainer/data/dataset_loader.h"
#include "trainer/data/transforms/crop.h"
#include "trainer/data/transforms/flip.h"
#include "trainer/data/transforms/normalize.h"
#include "trainer/data/transforms/resize.h"

namespace levin {
namespace {

using testing::HasSubstr;

constexpr int64_t kNumSamples = 300;

/// What each sample became, byte for byte.
using Seen = std::map<int64_t, std::string>;

std::shared_ptr<const Dataset> images() {
  // All alike, so that only the random numbers make them differ.
  const at::Tensor image = at::arange(1, 82).to(at::kByte).view({1, 1, 9, 9});
  return std::make_shared<TensorDataset>(
      Batch::of(image.expand({kNumSamples, 1, 9, 9}).contiguous(), at::arange(kNumSamples)));
}

std::shared_ptr<const Dataset> augmented() {
  return std::make_shared<TransformedDataset>(
      images(), Transforms{std::make_shared<RandomCrop>(ImageSize{9, 9}, 4), std::make_shared<RandomHorizontalFlip>(),
                           std::make_shared<RandomResizedCrop>(ImageSize{6, 6}),
                           std::make_shared<Normalize>(std::vector{0.5}, std::vector{0.25})});
}

/// Images whose sizes differ.
class MixedImages final : public SampleDataset {
 public:
  int64_t size() const override { return kNumSamples; }
  Batch get_sample(int64_t index, RandomStream& /*random*/) const override {
    const int64_t height = 4 + index % 5;
    return Batch::of(at::arange(height * 7).to(at::kByte).view({1, height, 7}), at::full({}, index, at::kLong));
  }
};

std::shared_ptr<const Dataset> mixed(bool crops_first = false) {
  Transforms transforms = {std::make_shared<RandomResizedCrop>(ImageSize{6, 6}),
                           std::make_shared<RandomHorizontalFlip>(), std::make_shared<ToFloat>()};
  if (crops_first) transforms.insert(transforms.begin(), std::make_shared<RandomCrop>(ImageSize{9, 9}, 1));
  return std::make_shared<TransformedDataset>(std::make_shared<MixedImages>(), transforms,
                                              TransformedDatasetOptions{.has_different_sizes = true});
}

struct Run {
  uint64_t seed = 1;
  int64_t epoch = 0;
  int64_t batch_size = 32;
  int64_t num_workers = 0;
  int64_t world_size = 1;
};

Seen deliver(const std::shared_ptr<const Dataset>& dataset, const Run& run) {
  Seen seen;
  for (int64_t rank = 0; rank < run.world_size; ++rank) {
    DatasetLoader loader(dataset, {.batch_size = run.batch_size, .shuffle = true, .num_workers = run.num_workers});
    loader.attach({.seed = run.seed, .rank = rank, .world_size = run.world_size});
    loader.start_epoch(run.epoch);
    while (const std::optional<Batch> batch = loader.next()) {
      const auto [pixels, labels] = batch->tensors<2>();
      for (int64_t row = 0; row < labels.size(0); ++row) {
        seen[labels[row].item<int64_t>()] = bytes_of(pixels[row].contiguous());
      }
    }
  }
  return seen;
}

TEST(TransformedDatasetTest, NeitherWorkersRanksNorBatchesChangeASample) {
  for (const auto& dataset : {augmented(), mixed()}) {
    const Seen expected = deliver(dataset, {});
    ASSERT_EQ(expected.size(), static_cast<size_t>(kNumSamples));
    EXPECT_EQ(deliver(dataset, {.num_workers = 1}), expected);
    EXPECT_EQ(deliver(dataset, {.num_workers = 3}), expected);
    EXPECT_EQ(deliver(dataset, {.world_size = 2}), expected);
    EXPECT_EQ(deliver(dataset, {.num_workers = 2, .world_size = 2}), expected);
    EXPECT_EQ(deliver(dataset, {.batch_size = 1}), expected);
    EXPECT_EQ(deliver(dataset, {.batch_size = 128}), expected);
  }
}

TEST(TransformedDatasetTest, SeedEpochAndIndexChangeASample) {
  const auto dataset = augmented();
  const Seen first = deliver(dataset, {});
  for (const Seen& other : {deliver(dataset, {.epoch = 1}), deliver(dataset, {.seed = 2})}) {
    int num_equal = 0;
    for (const auto& [index, bytes] : first) num_equal += other.at(index) == bytes ? 1 : 0;
    EXPECT_LT(num_equal, kNumSamples / 50);
  }
  std::set<std::string> different;
  for (const auto& [index, bytes] : first) different.insert(bytes);
  EXPECT_GT(different.size(), static_cast<size_t>(kNumSamples * 9 / 10));  // some are cut out of padding alone
  EXPECT_EQ(deliver(dataset, {}), first);
}

TEST(TransformedDatasetTest, TheDatasetsOwnImagesStayAsTheyAre) {
  const auto source = images();
  const std::vector<int64_t> indices = {0, 1, 2};
  const std::string before = bytes_of(source->get_batch(indices, {})[0].tensor());
  TransformedDataset(source, {std::make_shared<RandomHorizontalFlip>(1.0)}).get_batch(indices, {});
  EXPECT_EQ(bytes_of(source->get_batch(indices, {})[0].tensor()), before);
}

TEST(TransformedDatasetTest, FindsTheImagesByNameNumberOrAsTheOnlyTensor) {
  const at::Tensor pixels = at::arange(8).to(at::kByte).view({2, 1, 2, 2});
  const Transforms flip = {std::make_shared<RandomHorizontalFlip>(1.0)};
  const std::vector<int64_t> indices = {0, 1};
  const auto flipped = [&](Batch samples, TransformedDatasetOptions options) {
    return TransformedDataset(std::make_shared<TensorDataset>(std::move(samples)), flip, options)
        .get_batch(indices, {});
  };
  EXPECT_TRUE(flipped(pixels, {}).tensor().equal(pixels.flip(3)));
  const Batch second = flipped(Batch::of(at::arange(2), pixels), {.leaf = size_t{1}});
  EXPECT_TRUE(second[1].tensor().equal(pixels.flip(3)));
  EXPECT_TRUE(second[0].tensor().equal(at::arange(2)));
  const Batch named = flipped(Batch(Batch::Fields{{"id", at::arange(2)}, {"image", pixels}}), {.leaf = "image"});
  EXPECT_TRUE(named["image"].tensor().equal(pixels.flip(3)));
  EXPECT_THROW(flipped(Batch::of(pixels), {.leaf = size_t{3}}), DataError);
  EXPECT_THROW(flipped(Batch::of(pixels), {.leaf = "image"}), DataError);
}

TEST(TransformedDatasetTest, DifferentSizesNeedATransformThatMakesThemOne) {
  EXPECT_THAT(error_text<ConfigError>([] {
                TransformedDataset(std::make_shared<MixedImages>(), {std::make_shared<RandomHorizontalFlip>()},
                                   {.has_different_sizes = true});
              }),
              HasSubstr("need a transform that gives them one size"));
}

TEST(TransformedDatasetTest, AnImageThatDoesNotFitIsNamed) {
  const std::vector<int64_t> indices = {4, 0};  // heights 8 and 4: the second is too small
  EXPECT_THAT(
      error_text<DataError>([&] { mixed(/*crops_first=*/true)->get_batch(indices, {}); }),
      HasSubstr("[TransformedDataset] sample 0: [RandomCrop] an image with its padding must be at least 9 x 9"));
}

}  // namespace
}  // namespace levin
