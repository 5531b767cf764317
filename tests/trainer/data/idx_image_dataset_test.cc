#include "trainer/data/idx_image_dataset.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"
#include "trainer/data/idx_file.h"

namespace levin {
namespace {

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string idx_bytes(const std::vector<uint32_t>& shape, const std::string& data, uint8_t type = 0x08) {
  std::string bytes = {0, 0, static_cast<char>(type), static_cast<char>(shape.size())};
  for (const uint32_t size : shape) bytes += big_endian(size);
  return bytes + data;
}

void write_gz(const std::filesystem::path& file, const std::string& bytes) {
  gzFile out = gzopen(file.c_str(), "wb");
  ASSERT_EQ(gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
  ASSERT_EQ(gzclose(out), Z_OK);
}

std::string idx_error(const std::filesystem::path& file) {
  return error_text<DataError>([&] { read_idx(file); });
}

TEST(IdxFileTest, ReadsCompressedAndPlainFiles) {
  const TestFolder folder;
  write_gz(folder / "a.gz", idx_bytes({2, 3}, "abcdef"));
  write_bytes(folder / "a", idx_bytes({2, 3}, "abcdef"));
  for (const char* name : {"a.gz", "a"}) {
    const at::Tensor tensor = read_idx(folder / name);
    EXPECT_EQ(tensor.sizes(), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(tensor.scalar_type(), at::kByte);
    EXPECT_EQ(bytes_of(tensor), "abcdef");
  }
}

TEST(IdxFileTest, AMissingFileIsNamed) {
  EXPECT_EQ(idx_error("/nowhere/x.gz"), "[GzipFile] cannot open /nowhere/x.gz: No such file or directory.");
  const TestFolder folder;
  EXPECT_EQ(idx_error(folder.path()), "[GzipFile] " + folder.path().string() + " is a folder, not a file.");
}

TEST(IdxFileTest, AFileThatIsNotIdxIsRefused) {
  const TestFolder folder;
  write_bytes(folder / "png", "\x89PNG----");
  EXPECT_NE(idx_error(folder / "png").find("is not an IDX file: it begins with 0x89504e47"), std::string::npos);
  write_bytes(folder / "float", idx_bytes({1}, "abcd", 0x0d));
  EXPECT_NE(idx_error(folder / "float").find("must hold unsigned bytes (type 0x08), got type 0x0d"), std::string::npos);
}

TEST(IdxFileTest, AFileCutAnywhereIsRefused) {
  const TestFolder folder;
  const std::string plain = idx_bytes({2, 3}, "abcdef");
  write_gz(folder / "whole.gz", plain);
  const std::string compressed = read_bytes(folder / "whole.gz");
  for (const std::string* whole : {&plain, &compressed}) {
    for (size_t length = 0; length < whole->size(); ++length) {
      write_bytes(folder / "cut", whole->substr(0, length));
      const std::string text = idx_error(folder / "cut");
      EXPECT_NE(text.find((folder / "cut").string()), std::string::npos) << length << ": " << text;
    }
  }
}

TEST(IdxFileTest, DamageIsFoundByTheChecksum) {
  const TestFolder folder;
  write_gz(folder / "a.gz", idx_bytes({2, 3}, "abcdef"));
  std::string bytes = read_bytes(folder / "a.gz");
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 1);  // in the CRC
  write_bytes(folder / "a.gz", bytes);
  EXPECT_NE(idx_error(folder / "a.gz").find("damaged"), std::string::npos);
}

TEST(IdxFileTest, BytesLeftOverAndImpossibleSizesAreRefused) {
  const TestFolder folder;
  write_bytes(folder / "long", idx_bytes({2}, "abc"));
  EXPECT_NE(idx_error(folder / "long").find("there is data after the [2] bytes"), std::string::npos);
  write_bytes(folder / "huge", idx_bytes({0xffffffff, 0xffffffff, 0xffffffff}, "abc"));
  EXPECT_NE(idx_error(folder / "huge").find("is damaged: its header asks for"), std::string::npos);
}

class IdxImageDatasetTest : public testing::Test {
 protected:
  void write(const std::string& labels, const std::vector<uint32_t>& shape = {2, 1, 2}) {
    write_gz(folder_ / "images.gz", idx_bytes(shape, std::string("\x00\xff\x33\x66", 4)));
    write_gz(folder_ / "labels.gz", idx_bytes({static_cast<uint32_t>(labels.size())}, labels));
  }
  IdxImageDataset open() const {
    return IdxImageDataset(folder_ / "images.gz", folder_ / "labels.gz", /*num_classes=*/10, /*mean=*/0.5,
                           /*std=*/0.25);
  }
  std::string open_error() const {
    return error_text<DataError>([&] { open(); });
  }

  TestFolder folder_;
};

TEST_F(IdxImageDatasetTest, NormalisesPixels) {
  write({7, 9});
  const IdxImageDataset dataset = open();
  EXPECT_EQ(dataset.size(), 2);
  const std::vector<int64_t> indices = {1, 0};
  const auto [images, labels] = dataset.get_batch(indices, {}).tensors<2>();
  EXPECT_EQ(images.sizes(), (std::vector<int64_t>{2, 1, 1, 2}));
  // 0x33 = 0.2 and 0x66 = 0.4 of 255; (x - 0.5) / 0.25.
  const std::vector<float> expected = {-1.2f, -0.4f, -2.0f, 2.0f};
  constexpr float kTolerance = 1e-6f;  // a few roundings of float32 at magnitude 2
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(images.const_data_ptr<float>()[i], expected[i], kTolerance);
  EXPECT_EQ(labels.const_data_ptr<int64_t>()[0], 9);
  EXPECT_EQ(labels.const_data_ptr<int64_t>()[1], 7);
}

TEST_F(IdxImageDatasetTest, WithoutMeanAndStdPixelsStayBytes) {
  write({7, 9});
  const std::vector<int64_t> indices = {1, 0};
  const Batch batch = IdxImageDataset(folder_ / "images.gz", folder_ / "labels.gz", 10).get_batch(indices, {});
  EXPECT_EQ(batch[0].tensor().scalar_type(), at::kByte);
  EXPECT_EQ(bytes_of(batch[0].tensor()), std::string("\x33\x66\x00\xff", 4));
}

TEST_F(IdxImageDatasetTest, ALabelOutOfRangeIsNamed) {
  write({7, 10});
  EXPECT_NE(open_error().find("has the label 10, but there are 10 classes (0 to 9)"), std::string::npos);
}

TEST_F(IdxImageDatasetTest, DifferentLengthsAreNamed) {
  write({7, 8, 9});
  const std::string text = open_error();
  EXPECT_NE(text.find("has 2 images"), std::string::npos) << text;
  EXPECT_NE(text.find("has 3 labels"), std::string::npos) << text;
}

TEST_F(IdxImageDatasetTest, ImagesMustHaveThreeDimensions) {
  write({7, 9}, {2, 2});
  EXPECT_NE(open_error().find("must hold images [N, H, W], got uint8 [2, 2]"), std::string::npos);
}

}  // namespace
}  // namespace levin
