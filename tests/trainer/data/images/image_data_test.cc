#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/images/image_test_files.h"
#include "trainer/core/error.h"
#include "trainer/data/images/idx_image_data.h"
#include "trainer/data/images/image_folder_data.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Batch> deliver(DataLoader& loader, int64_t epoch = 0) {
  loader.attach({.seed = 3});
  loader.start_epoch(epoch);
  std::vector<Batch> batches;
  while (std::optional<Batch> batch = loader.next()) batches.push_back(*batch);
  return batches;
}

class ImageFolderDataTest : public testing::Test {
 protected:
  /// `count` images of one brightness in a class's folder.
  void put(const std::string& split, const std::string& kind, int count, uint8_t value) const {
    fs::create_directories(folder_ / split / kind);
    for (int i = 0; i < count; ++i) {
      write_bytes(folder_ / split / kind / (std::to_string(i) + ".png"), flat_png(20 + i, 30 - i, value));
    }
  }
  std::string dir(const std::string& split) const { return (folder_ / split).string(); }

  TestFolder folder_;
};

TEST_F(ImageFolderDataTest, EverySplitHasImagesOfOneSizeAndTheLabelsOfTraining) {
  put("train", "cat", 5, 51);
  put("train", "dog", 3, 255);
  put("val", "dog", 2, 255);  // no cats: a dog is 1 all the same
  put("predict", "", 3, 0);
  ImageFolderData data({.train_dir = dir("train"),
                        .val_dir = dir("val"),
                        .predict_dir = dir("predict"),
                        .image_size = 8,
                        .batch_size = 4});
  data.setup(Stage::kTrain);
  EXPECT_THAT(data.classes(), ElementsAre("cat", "dog"));
  int num_dogs = 0;
  for (const Batch& batch : deliver(*data.train_dataloader())) {
    const auto [images, labels] = batch.tensors<2>();
    EXPECT_EQ(images.sizes(), (std::vector<int64_t>{4, 3, 8, 8}));
    EXPECT_EQ(images.scalar_type(), at::kFloat);
    for (int64_t row = 0; row < 4; ++row) {
      const bool is_dog = labels[row].item<int64_t>() == 1;
      num_dogs += is_dog ? 1 : 0;
      EXPECT_TRUE(images[row].eq(is_dog ? 1.0f : 51.0f / 255.0f).all().item<bool>());
    }
  }
  EXPECT_EQ(num_dogs, 3);
  EXPECT_TRUE(deliver(*data.val_dataloader())[0][1].tensor().eq(1).all().item<bool>());
  EXPECT_EQ(data.test_dataloader(), nullptr);
  data.setup(Stage::kPredict);
  const std::vector<Batch> predicted = deliver(*data.predict_dataloader());
  ASSERT_EQ(predicted.size(), 1U);
  EXPECT_EQ(predicted[0][0].tensor().sizes(), (std::vector<int64_t>{3, 3, 8, 8}));
  EXPECT_TRUE(predicted[0][1].tensor().eq(-1).all().item<bool>());
}

TEST_F(ImageFolderDataTest, EveryCropGivesTheSize) {
  put("train", "cat", 4, 100);
  for (const char* crop : {"random_resized", "random", "center"}) {
    ImageFolderData data({.train_dir = dir("train"),
                          .image_size = 16,
                          .grey = true,
                          .train_crop = crop,
                          .pixels = {.normalize_mean = {0.5}, .normalize_std = {0.5}}});
    data.setup(Stage::kTrain);
    const at::Tensor images = deliver(*data.train_dataloader())[0][0].tensor();
    EXPECT_EQ(images.sizes(), (std::vector<int64_t>{4, 1, 16, 16})) << crop;
    EXPECT_TRUE(images.eq((100.0f / 255.0f - 0.5f) / 0.5f).all().item<bool>()) << crop;
  }
}

TEST_F(ImageFolderDataTest, TheBatchSizeCanBeSet) {
  put("train", "cat", 6, 1);
  ImageFolderData data({.train_dir = dir("train"), .image_size = 4});
  data.setup(Stage::kTrain);
  EXPECT_TRUE(data.set_batch_size(2));
  EXPECT_EQ(data.train_dataloader()->num_batches(), 3);
}

TEST_F(ImageFolderDataTest, OptionsThatDoNotFitAreRefused) {
  using Options = ImageFolderData::Options;
  const auto error = [](const Options& options) {
    return error_text<ConfigError>([&] { ImageFolderData data(options); });
  };
  EXPECT_THAT(error({.train_crop = "middle"}), HasSubstr("train_crop must be one of"));
  EXPECT_THAT(error({.crop_scale = {0.5}}), HasSubstr("crop_scale must be [least, greatest], got 1 values"));
  EXPECT_THAT(error({.crop_scale = {0.5, 0.1}}), HasSubstr("the scale must be a range in (0, 1]"));
  EXPECT_THAT(error({.image_size = 224, .resize_size = 200, .train_crop = "random"}), HasSubstr("got 200 and 0"));
  EXPECT_THAT(error({.pixels = {.normalize_mean = {0.5, 0.5}, .normalize_std = {1.0, 1.0}}}),
              HasSubstr("one value for each of the 3 channels"));
}

std::string idx(const std::vector<uint8_t>& shape, const std::string& data) {
  std::string bytes = {0, 0, 8, static_cast<char>(shape.size())};
  for (const uint8_t size : shape) bytes += std::string({0, 0, 0, static_cast<char>(size)});
  return bytes + data;
}

class IdxImageDataTest : public testing::Test {
 protected:
  IdxImageDataTest() {
    std::string labels;
    std::string pixels;
    for (int i = 0; i < 6; ++i) {
      labels += static_cast<char>(i % 3);
      pixels += std::string(12, static_cast<char>(10 * (i + 1)));
    }
    write_bytes(folder_ / "images", idx({6, 3, 4}, pixels));
    write_bytes(folder_ / "labels", idx({6}, labels));
  }
  std::string images() const { return (folder_ / "images").string(); }
  std::string labels() const { return (folder_ / "labels").string(); }

  TestFolder folder_;
};

TEST_F(IdxImageDataTest, TrainingAugmentsAndTheOthersDoNot) {
  IdxImageData data({.train_images = images(),
                     .train_labels = labels(),
                     .val_images = images(),
                     .val_labels = labels(),
                     .crop_padding = 2,
                     .random_flip = 0.5,
                     .batch_size = 6});
  data.setup(Stage::kTrain);
  const auto [pixels, numbers] = deliver(*data.val_dataloader())[0].tensors<2>();
  EXPECT_EQ(pixels.sizes(), (std::vector<int64_t>{6, 1, 3, 4}));
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(pixels[i].eq(static_cast<float>(10 * (i + 1)) / 255.0f).all().item<bool>());
    EXPECT_EQ(numbers[i].item<int64_t>(), i % 3);
  }
  const auto train = data.train_dataloader();
  const at::Tensor first = deliver(*train, 0)[0][0].tensor();
  EXPECT_TRUE(first.eq(0).any().item<bool>());  // padding
  EXPECT_FALSE(first.equal(deliver(*train, 1)[0][0].tensor()));
}

TEST_F(IdxImageDataTest, PredictionNeedsNoLabels) {
  IdxImageData data({.predict_images = images()});
  data.setup(Stage::kPredict);
  EXPECT_TRUE(deliver(*data.predict_dataloader())[0][1].tensor().eq(-1).all().item<bool>());
  data.setup(Stage::kTrain);
  EXPECT_EQ(data.train_dataloader(), nullptr);
  EXPECT_EQ(data.val_dataloader(), nullptr);
}

TEST_F(IdxImageDataTest, ImagesWithoutLabelsAreRefused) {
  IdxImageData data({.train_images = images()});
  EXPECT_EQ(error_text<ConfigError>([&] { data.setup(Stage::kTrain); }),
            "[IdxImageData] train_images and train_labels must be set together, but train_labels is not.");
  IdxImageData missing({.test_images = "/nowhere/i", .test_labels = labels()});
  EXPECT_THAT(error_text<DataError>([&] { missing.setup(Stage::kTest); }), HasSubstr("/nowhere/i"));
  IdxImageData few({.test_images = images(), .test_labels = labels(), .num_classes = 2});
  EXPECT_THAT(error_text<DataError>([&] { few.setup(Stage::kTest); }), HasSubstr(labels()));
}

}  // namespace
}  // namespace levin
