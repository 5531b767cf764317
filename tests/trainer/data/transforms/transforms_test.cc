#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"
#include "trainer/data/transforms/crop.h"
#include "trainer/data/transforms/flip.h"
#include "trainer/data/transforms/normalize.h"
#include "trainer/data/transforms/resize.h"

namespace levin {
namespace {

using testing::HasSubstr;

std::vector<int64_t> range(int64_t size) {
  std::vector<int64_t> indices(static_cast<size_t>(size));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

at::Tensor apply(const Transform& transform, const at::Tensor& images, const SampleRandom& random = {.seed = 1}) {
  const std::vector<int64_t> indices = range(images.size(0));
  return transform.apply(images, TransformRandom(indices, random, 0));
}

/// 1, 2, 3, ...: no pixel is like another, and none is 0.
at::Tensor ramp(at::IntArrayRef shape, at::ScalarType type = at::kByte) {
  int64_t size = 1;
  for (const int64_t side : shape) size *= side;
  return at::arange(1, size + 1).to(type).view(shape);
}

constexpr std::array kTypes = {at::kByte, at::kShort, at::kHalf, at::kFloat, at::kDouble};

TEST(RandomCropTest, EveryPlaceOfThePaddedImageIsEquallyLikely) {
  const int64_t num_images = 9000;
  const at::Tensor image = ramp({1, 1, 3, 3});
  const at::Tensor crops = apply(RandomCrop({3, 3}, 1), image.expand({num_images, 1, 3, 3}));
  const at::Tensor padded = at::constant_pad_nd(image, {1, 1, 1, 1}, 0);
  for (int64_t top = 0; top < 3; ++top) {
    for (int64_t left = 0; left < 3; ++left) {
      const at::Tensor expected = padded.narrow(2, top, 3).narrow(3, left, 3);
      const auto count = crops.eq(expected).flatten(1).all(1).sum().item<int64_t>();
      EXPECT_NEAR(count, num_images / 9, 150) << top << " " << left;  // five standard deviations of 30
    }
  }
}

TEST(RandomCropTest, KeepsTheTypeAndFills) {
  for (const at::ScalarType type : kTypes) {
    const at::Tensor images = ramp({40, 2, 1, 1}, type);
    const at::Tensor crops = apply(RandomCrop({1, 1}, 1, 7.0), images);
    EXPECT_EQ(crops.scalar_type(), type);
    EXPECT_TRUE(crops.eq(images).logical_or(crops.eq(7)).all().item<bool>());
    EXPECT_TRUE(crops.eq(7).any().item<bool>());
  }
}

TEST(RandomCropTest, TakesPartsWithoutPadding) {
  const at::Tensor images = ramp({50, 1, 4, 5}, at::kInt);
  const at::Tensor crops = apply(RandomCrop({2, 3}), images);
  ASSERT_EQ(crops.sizes(), (std::vector<int64_t>{50, 1, 2, 3}));
  EXPECT_TRUE((crops.select(3, 1) - crops.select(3, 0)).eq(1).all().item<bool>());
  EXPECT_TRUE((crops.select(2, 1) - crops.select(2, 0)).eq(5).all().item<bool>());
}

TEST(RandomCropTest, WhatDoesNotFitIsAnError) {
  const at::Tensor images = ramp({1, 1, 3, 4});
  EXPECT_EQ(error_text<DataError>([&] {
              apply(RandomCrop({6, 4}, 1), images);
            }),
            "[RandomCrop] an image with its padding must be at least 6 x 4, got 3 x 4 and 1 pixels of padding. Resize "
            "first, or set more padding.");
  EXPECT_THAT(error_text<DataError>([&] {
                apply(RandomCrop({3, 4}, 1, -1.0), images);
              }),
              HasSubstr("fill must be between 0 and 255 for uint8 images, got -1."));
  EXPECT_THROW(RandomCrop({0, 1}), ConfigError);
  EXPECT_THROW(RandomCrop({1, 1}, -1), ConfigError);
}

TEST(CenterCropTest, TakesTheMiddle) {
  const at::Tensor images = ramp({2, 1, 6, 7});
  EXPECT_TRUE(apply(CenterCrop({2, 3}), images).equal(images.narrow(2, 2, 2).narrow(3, 2, 3)));
  // Offsets 1.5 and 2.5 become 2: halves go to the even number.
  EXPECT_TRUE(apply(CenterCrop({3, 2}), images).equal(images.narrow(2, 2, 3).narrow(3, 2, 2)));
}

TEST(CenterCropTest, ASmallerImageIsFilledUp) {
  const at::Tensor images = ramp({1, 1, 2, 3});
  // One row is missing: below. Two columns: one on each side.
  EXPECT_TRUE(apply(CenterCrop({3, 5}), images).equal(at::constant_pad_nd(images, {1, 1, 0, 1}, 0)));
}

TEST(RandomHorizontalFlipTest, MirrorsEveryTypeAndWidth) {
  for (const at::ScalarType type : kTypes) {
    for (const int64_t width : {1, 2, 7, 8, 9, 16, 19}) {
      const at::Tensor images = ramp({2, 3, 2, width}, type);
      EXPECT_TRUE(apply(RandomHorizontalFlip(1.0), images).equal(images.flip(3))) << width;
      EXPECT_TRUE(apply(RandomHorizontalFlip(0.0), images).equal(images)) << width;
    }
  }
}

TEST(RandomHorizontalFlipTest, MirrorsAsOftenAsItShould) {
  const at::Tensor images = ramp({1, 1, 1, 2}).expand({10000, 1, 1, 2});
  const at::Tensor is_flipped = apply(RandomHorizontalFlip(0.3), images).select(3, 0).eq(2);
  EXPECT_NEAR(is_flipped.sum().item<int64_t>(), 3000, 230);  // five standard deviations of 46
  EXPECT_THROW(RandomHorizontalFlip(1.1), ConfigError);
  EXPECT_THROW(RandomHorizontalFlip(std::nan("")), ConfigError);
}

TEST(NormalizeTest, EveryByteIsWhatLibTorchComputes) {
  const at::Tensor images = at::arange(768).remainder(256).to(at::kByte).view({1, 3, 16, 16});
  const at::Tensor mean = at::tensor(std::vector<float>{0.485f, 0.456f, 0.406f}).view({3, 1, 1});
  const at::Tensor std = at::tensor(std::vector<float>{0.229f, 0.224f, 0.225f}).view({3, 1, 1});
  const at::Tensor scaled = images.to(at::kFloat).div(255);
  EXPECT_TRUE(apply(Normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}), images).equal((scaled - mean).div(std)));
  EXPECT_TRUE(apply(Normalize({0.286}, {0.353}), images).equal((scaled - 0.286f).div(0.353f)));
  EXPECT_TRUE(apply(ToFloat(), images).equal(scaled));
}

TEST(NormalizeTest, NumbersAreTakenAsTheyAre) {
  const at::Tensor images = ramp({2, 2, 3, 3}, at::kDouble);
  const at::Tensor normalized = apply(Normalize({1.0, 2.0}, {2.0, 4.0}), images);
  EXPECT_EQ(normalized.scalar_type(), at::kDouble);
  EXPECT_TRUE(normalized.select(1, 1).equal((images.select(1, 1) - 2.0) / 4.0));
  EXPECT_TRUE(images.equal(ramp({2, 2, 3, 3}, at::kDouble)));  // not written to
  EXPECT_TRUE(apply(ToFloat(), images).equal(images));
}

TEST(NormalizeTest, WhatDoesNotFitIsAnError) {
  EXPECT_THAT(error_text<DataError>([] {
                apply(Normalize({0, 0, 0}, {1, 1, 1}), ramp({1, 2, 1, 1}));
              }),
              HasSubstr("images must have 3 channels, as mean and std have, got uint8 [1, 2, 1, 1]"));
  EXPECT_THAT(error_text<DataError>([] {
                apply(Normalize({0}, {1}), ramp({1, 2, 1, 1}, at::kLong));
              }),
              HasSubstr("must be uint8 or floating-point"));
  EXPECT_THAT(error_text<DataError>([] {
                apply(ToFloat(), ramp({1, 2, 1, 1}, at::kLong));
              }),
              HasSubstr("must be uint8 or floating-point"));
  EXPECT_THROW(Normalize({}, {}), ConfigError);
  EXPECT_THROW(Normalize({0.0}, {0.0}), ConfigError);
  EXPECT_THROW(Normalize({0.0, 0.0}, {1.0}), ConfigError);
  EXPECT_THROW(Normalize({0.0}, {std::nan("")}), ConfigError);
}

TEST(ResizeTest, KeepsTheTypeAndAverages) {
  for (const at::ScalarType type : {at::kByte, at::kFloat}) {
    const at::Tensor small = apply(Resize(ImageSize{2, 2}), at::full({1, 3, 8, 6}, 50, type));
    EXPECT_EQ(small.scalar_type(), type);
    EXPECT_EQ(small.sizes(), (std::vector<int64_t>{1, 3, 2, 2}));
    EXPECT_TRUE(small.to(at::kDouble).sub(50).abs().lt(1e-4).all().item<bool>());
  }
  const at::Tensor pair = at::tensor(std::vector<float>{0, 10, 20, 30}).view({1, 1, 2, 2});
  EXPECT_NEAR(apply(Resize(ImageSize{1, 1}), pair).item<float>(), 15.0f, 1e-4f);
}

TEST(ResizeTest, TheShorterSideDecides) {
  EXPECT_EQ(apply(Resize(4), ramp({1, 1, 3, 5})).sizes(), (std::vector<int64_t>{1, 1, 4, 6}));
  EXPECT_EQ(apply(Resize(4), ramp({1, 1, 5, 3})).sizes(), (std::vector<int64_t>{1, 1, 6, 4}));
  EXPECT_THROW(Resize(0), ConfigError);
}

TEST(ResizeTest, AThreadOfPixelsDoesNotTakeAllMemory) {
  EXPECT_THAT(error_text<DataError>([] {
                apply(Resize(224), at::zeros({1, 3, 1, 100000}, at::kByte));
              }),
              HasSubstr("an image of 100000 x 1 pixels (width x height) would become 22400000 x 224"));
}

TEST(RandomResizedCropTest, PartsHaveTheAreaAndRatioOfTheOptions) {
  const RandomResizedCrop crop({8, 8}, {.min_scale = 0.25, .max_scale = 0.5, .min_ratio = 0.5, .max_ratio = 2.0});
  double least = 1.0;
  double greatest = 0.0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomStream stream(seed);
    const auto part = crop.draw({200, 300}, stream);
    ASSERT_TRUE(part.top >= 0 && part.left >= 0 && part.top + part.height <= 200 && part.left + part.width <= 300);
    const double area = static_cast<double>(part.height * part.width) / (200.0 * 300.0);
    const double ratio = static_cast<double>(part.width) / static_cast<double>(part.height);
    EXPECT_GT(ratio, 0.49);
    EXPECT_LT(ratio, 2.05);
    least = std::min(least, area);
    greatest = std::max(greatest, area);
  }
  EXPECT_NEAR(least, 0.25, 0.01);
  EXPECT_NEAR(greatest, 0.5, 0.01);
}

TEST(RandomResizedCropTest, AnImageThatFitsNoPartGivesItsMiddle) {
  const RandomResizedCrop crop({4, 4}, {.min_scale = 1.0, .max_scale = 1.0, .min_ratio = 1.0, .max_ratio = 1.0});
  RandomStream stream(1);
  const auto part = crop.draw({10, 20}, stream);
  EXPECT_EQ(std::vector({part.top, part.left, part.height, part.width}), (std::vector<int64_t>{0, 5, 10, 10}));
  EXPECT_EQ(apply(crop, ramp({3, 2, 10, 20}, at::kFloat)).sizes(), (std::vector<int64_t>{3, 2, 4, 4}));
  EXPECT_THROW(RandomResizedCrop({4, 4}, {.min_scale = 0.0}), ConfigError);
  EXPECT_THROW(RandomResizedCrop({4, 4}, {.min_ratio = 2.0, .max_ratio = 1.0}), ConfigError);
}

/// As a user would write one.
class AddOne final : public Transform {
 public:
  at::Tensor apply(const at::Tensor& images, const TransformRandom& /*random*/) const override { return images + 1; }
};

// The chain shares passes where it can; one transform after the other must give the same.
TEST(ApplyTransformsTest, ASharedPassGivesWhatTheTransformsGiveOneByOne) {
  const auto crop = std::make_shared<RandomCrop>(ImageSize{6, 5}, 2, 3.0);
  const auto flip = std::make_shared<RandomHorizontalFlip>();
  const auto normalize = std::make_shared<Normalize>(std::vector{0.1, 0.2}, std::vector{0.3, 0.4});
  const auto center = std::make_shared<CenterCrop>(ImageSize{3, 9});
  const auto add_one = std::make_shared<AddOne>();
  const at::Tensor images = at::randint(0, 256, {32, 2, 6, 7}, at::kByte);
  const std::vector<int64_t> indices = range(32);
  const SampleRandom random = {.seed = 5, .epoch = 2};
  for (const Transforms& chain :
       {Transforms{crop, flip, normalize}, Transforms{flip, crop, normalize}, Transforms{normalize, flip, crop},
        Transforms{crop, center, flip, flip}, Transforms{flip, add_one, normalize, center},
        Transforms{normalize, normalize}, Transforms{std::make_shared<ToFloat>(), normalize}, Transforms{}}) {
    at::Tensor expected = images;
    for (size_t place = 0; place < chain.size(); ++place) {
      expected = chain[place]->apply(expected, TransformRandom(indices, random, static_cast<int64_t>(place)));
    }
    EXPECT_TRUE(apply_transforms(chain, images, indices, random).equal(expected));
  }
}

TEST(ApplyTransformsTest, ImagesInAnotherOrderOfMemoryAreTheSame) {
  const Transforms chain = {std::make_shared<RandomCrop>(ImageSize{6, 5}, 2), std::make_shared<RandomHorizontalFlip>(),
                            std::make_shared<ToFloat>()};
  const at::Tensor images = at::randint(0, 256, {8, 3, 6, 7}, at::kByte);
  EXPECT_TRUE(apply_transforms(chain, images, range(8), {})
                  .equal(apply_transforms(chain, images.contiguous(at::MemoryFormat::ChannelsLast), range(8), {})));
}

TEST(ApplyTransformsTest, TwoPlacesOfOneTransformDrawApart) {
  const auto flip = std::make_shared<RandomHorizontalFlip>();
  const at::Tensor images = ramp({1, 1, 1, 2}).expand({1000, 1, 1, 2});
  const at::Tensor twice = apply_transforms({flip, flip}, images, range(1000), {});
  EXPECT_NEAR(twice.select(3, 0).eq(2).sum().item<int64_t>(), 500, 80);  // five standard deviations of 16
}

TEST(ApplyTransformsTest, ImagesOfAnotherFormAreRefused) {
  EXPECT_THAT(
      error_text<DataError>([] {
        apply_transforms({}, ramp({2, 3, 4}), range(2), {});
      }),
      HasSubstr("the images of 2 samples must be [2, C, H, W], before and after each transform, got uint8 [2, 3, 4]"));
  EXPECT_TRUE(apply_transforms({std::make_shared<RandomHorizontalFlip>()}, ramp({0, 1, 2, 2}), range(0), {})
                  .equal(ramp({0, 1, 2, 2})));
}

}  // namespace
}  // namespace levin
