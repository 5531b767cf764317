#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/config/data_config.h"
#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/images/image_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::HasSubstr;

TEST(ImageDataConfigTest, YamlNamesFoldersAndOptions) {
  const TestFolder folder;
  std::filesystem::create_directories(folder / "cat");
  write_bytes(folder / "cat/1.png", flat_png(9, 9, 255));
  const RunConfig config = read_data_config(
      fmt::format("  class: ImageFolderData\n  train_dir: {}\n  image_size: 4\n  train_crop: random\n"
                  "  normalize_mean: [0.5, 0.5, 0.5]\n  normalize_std: [0.5, 0.5, 0.5]\n  num_workers: 1\n",
                  folder.path().string()));
  const auto data = config.data.make();
  data->setup(Stage::kTrain);
  const auto loader = data->train_dataloader();
  loader->attach({.seed = 1});
  loader->start_epoch(0);
  const at::Tensor images = (*loader->next())[0].tensor();
  EXPECT_EQ(images.sizes(), (std::vector<int64_t>{1, 3, 4, 4}));
  EXPECT_TRUE(images.eq(1).all().item<bool>());
}

TEST(ImageDataConfigTest, WrongOptionsAreListedWithTheirLine) {
  const std::string text = error_text<ConfigError>(
      [] { read_data_config("  class: IdxImageData\n  random_flip: 1.5\n  crop_padding: -1\n  train_image: a\n"); });
  EXPECT_THAT(text, HasSubstr("a.yaml:5: data.random_flip must be"));
  EXPECT_THAT(text, HasSubstr("a.yaml:6: data.crop_padding must be >= 0, got -1"));
  EXPECT_THAT(text, HasSubstr("did you mean \"train_images\"?"));
}

}  // namespace
}  // namespace levin
