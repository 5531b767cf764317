#include "trainer/data/images/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/images/image_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class ImageFolderTest : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& bytes = flat_png(2, 3, 9)) const {
    fs::create_directories((folder_ / name).parent_path());
    write_bytes(folder_ / name, bytes);
  }
  std::string error(const ImageFolderOptions& options = {}) const {
    return error_text<DataError>([&] { ImageFolder(folder_.path(), options); });
  }

  TestFolder folder_;
};

TEST_F(ImageFolderTest, ClassesAndFilesAreSorted) {
  put("dog/b.PNG");
  put("dog/a.jpg", jpeg_bytes({.width = 4, .height = 4}, std::string(48, '\x40')));
  put("cat/more/1.png", flat_png(1, 1, 77));
  put("cat/z.jpeg", jpeg_bytes({.width = 4, .height = 4}, std::string(48, '\x40')));
  put("cat/.hidden.png");
  put("cat/notes.txt");
  put(".cache/x.png");
  put("read.me");
  for (const std::string& root : {folder_.path().string(), folder_.path().string() + "/"}) {
    const ImageFolder images(root);
    EXPECT_THAT(images.classes(), ElementsAre("cat", "dog"));
    ASSERT_EQ(images.size(), 4);
    const std::vector<std::string> names = {"cat/z.jpeg", "cat/more/1.png", "dog/a.jpg", "dog/b.PNG"};
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(images.path(i), folder_ / names[static_cast<size_t>(i)]);
      EXPECT_EQ(images.label(i), i / 2);
    }
    RandomStream random(1);
    const auto [image, label] = images.get_sample(1, random).tensors<2>();
    EXPECT_EQ(image.sizes(), (std::vector<int64_t>{3, 1, 1}));
    EXPECT_EQ(image[0][0][0].item<uint8_t>(), 77);
    EXPECT_EQ(label.item<int64_t>(), 0);
  }
}

TEST_F(ImageFolderTest, GivenClassesDecideTheLabels) {
  put("cat/1.png");
  const ImageFolder images(folder_.path(), {.classes = {"dog", "cat"}});
  EXPECT_EQ(images.label(0), 1);
  EXPECT_THAT(error({.classes = {"dog"}}), HasSubstr("cat is the folder of none of the classes, which are: dog."));
}

TEST_F(ImageFolderTest, WithoutClassesLabelsAreMinusOne) {
  put("b.png");
  put("a/1.png");
  const ImageFolder images(folder_.path(), {.has_classes = false});
  ASSERT_EQ(images.size(), 2);
  EXPECT_EQ(images.path(0), folder_ / "b.png");
  EXPECT_EQ(images.label(0), -1);
  EXPECT_TRUE(images.classes().empty());
}

TEST_F(ImageFolderTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(error_text<DataError>([] { ImageFolder("/nowhere"); }),
            "[ImageFolder] there is no folder /nowhere. It must hold the images.");
  EXPECT_THAT(error(), HasSubstr("has no class"));
  fs::create_directories(folder_ / "cat");
  EXPECT_THAT(error(), HasSubstr("cat has no image (a file whose name ends in .png, .jpg, .jpeg)"));
}

TEST_F(ImageFolderTest, AnImageThatWouldBeMissedIsAnError) {
  put("cat/1.png");
  put("cat/2.webp");
  EXPECT_THAT(error(), HasSubstr("2.webp is an image of a kind that cannot be read"));
}

TEST_F(ImageFolderTest, ABrokenFileIsNamedWhenItIsRead) {
  put("cat/1.png", flat_png(4, 4, 1).substr(0, 50));
  const ImageFolder images(folder_.path());
  const std::vector<int64_t> first = {0};
  const std::string text = error_text<DataError>([&] { images.get_batch(first, {}); });
  EXPECT_THAT(text, HasSubstr((folder_ / "cat/1.png").string() + " is a damaged PNG"));
}

TEST_F(ImageFolderTest, ALinkInACircleIsAnError) {
  put("cat/1.png");
  fs::create_directory_symlink(folder_ / "cat", folder_ / "cat/again");
  EXPECT_THAT(error(), HasSubstr("cannot list"));
}

TEST_F(ImageFolderTest, AListedFileThatIsGoneIsNamed) {
  put("cat/1.png");
  fs::create_symlink("/nowhere.png", folder_ / "cat/2.png");
  const ImageFolder images(folder_.path());
  RandomStream random(1);
  EXPECT_THAT(error_text<DataError>([&] { images.get_sample(1, random); }), HasSubstr("cat/2.png: No such file"));
}

}  // namespace
}  // namespace levin
