#include "trainer/data/images/decode_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/images/image_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::span<const uint8_t> span_of(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

at::Tensor decode(const std::string& bytes, const DecodeOptions& options = {}) {
  return decode_image(span_of(bytes), options, "it.png");
}

std::vector<int> values(const at::Tensor& image) {
  const at::Tensor flat = image.contiguous();
  return std::vector<int>(flat.const_data_ptr<uint8_t>(), flat.const_data_ptr<uint8_t>() + flat.numel());
}

std::string decode_error(const std::string& bytes, const DecodeOptions& options = {}) {
  return error_text<DataError>([&] { decode(bytes, options); });
}

std::string text_of(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

/// Pixels that differ: JPEG has little trouble with a slope.
std::string slope(int width, int height, int channels) {
  std::string pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) pixels += static_cast<char>(40 + 3 * x + 2 * y + 20 * c);
    }
  }
  return pixels;
}

void expect_slope(const at::Tensor& image, int tolerance) {
  for (int64_t c = 0; c < image.size(0); ++c) {
    for (int64_t y = 0; y < image.size(1); ++y) {
      for (int64_t x = 0; x < image.size(2); ++x) {
        const int value = image[c][y][x].item<uint8_t>();
        ASSERT_NEAR(value, 40 + 3 * x + 2 * y + 20 * c, tolerance) << c << " " << y << " " << x;
      }
    }
  }
}

TEST(DecodePngTest, RgbBecomesPlanes) {
  const std::string png = png_bytes({.width = 2, .height = 1}, text_of({1, 2, 3, 250, 251, 252}));
  const at::Tensor image = decode(png);
  EXPECT_EQ(image.sizes(), (std::vector<int64_t>{3, 1, 2}));
  EXPECT_EQ(image.scalar_type(), at::kByte);
  EXPECT_THAT(values(image), ElementsAre(1, 250, 2, 251, 3, 252));
}

TEST(DecodePngTest, GreyAndRgbBecomeEachOther) {
  const std::string grey = png_bytes({.width = 2, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY}, text_of({7, 200}));
  EXPECT_THAT(values(decode(grey)), ElementsAre(7, 200, 7, 200, 7, 200));
  EXPECT_THAT(values(decode(grey, {.channels = 1})), ElementsAre(7, 200));
  // 0.299 R + 0.587 G + 0.114 B
  const std::string rgb =
      png_bytes({.width = 4, .height = 1}, text_of({255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}));
  EXPECT_THAT(values(decode(rgb, {.channels = 1})), ElementsAre(76, 150, 29, 255));
}

TEST(DecodePngTest, SixteenBitsKeepTheUpperEight) {
  const TestPng kind = {.width = 2, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 16};
  EXPECT_THAT(values(decode(png_bytes(kind, text_of({0x12, 0x34, 0xff, 0x80})), {.channels = 1})),
              ElementsAre(0x12, 0xff));
}

TEST(DecodePngTest, FewBitsFillTheRange) {
  const TestPng kind = {.width = 4, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 2};
  EXPECT_THAT(values(decode(png_bytes(kind, text_of({0b00011011})), {.channels = 1})), ElementsAre(0, 85, 170, 255));
}

TEST(DecodePngTest, APaletteBecomesItsColours) {
  TestPng kind = {.width = 3, .height = 1, .color_type = PNG_COLOR_TYPE_PALETTE};
  kind.palette = {{1, 2, 3}, {10, 20, 30}};
  const std::string rows = text_of({1, 0, 1});
  EXPECT_THAT(values(decode(png_bytes(kind, rows))), ElementsAre(10, 1, 10, 20, 2, 20, 30, 3, 30));
  kind.palette_alpha = {0, 128};  // left out
  EXPECT_THAT(values(decode(png_bytes(kind, rows))), ElementsAre(10, 1, 10, 20, 2, 20, 30, 3, 30));
}

TEST(DecodePngTest, TransparencyIsLeftOut) {
  const std::string grey =
      png_bytes({.width = 2, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY_ALPHA}, text_of({9, 0, 8, 255}));
  EXPECT_THAT(values(decode(grey, {.channels = 1})), ElementsAre(9, 8));
  const std::string rgb =
      png_bytes({.width = 1, .height = 1, .color_type = PNG_COLOR_TYPE_RGB_ALPHA}, text_of({1, 2, 3, 0}));
  EXPECT_THAT(values(decode(rgb)), ElementsAre(1, 2, 3));
}

TEST(DecodePngTest, AnInterlacedImageIsTheSame) {
  const std::string pixels = slope(13, 11, 3);
  const at::Tensor plain = decode(png_bytes({.width = 13, .height = 11}, pixels));
  const at::Tensor interlaced = decode(png_bytes({.width = 13, .height = 11, .is_interlaced = true}, pixels));
  EXPECT_TRUE(plain.equal(interlaced));
  expect_slope(plain, 0);
}

TEST(DecodePngTest, AFileCutAnywhereIsAnErrorWithItsName) {
  for (const bool is_interlaced : {false, true}) {
    const std::string png = png_bytes({.width = 9, .height = 9, .is_interlaced = is_interlaced}, slope(9, 9, 3));
    for (size_t size = 0; size < png.size(); ++size)
      EXPECT_THAT(decode_error(png.substr(0, size)), HasSubstr("it.png"));
  }
  EXPECT_EQ(decode_error(""), "[decode_image] it.png is empty.");
}

TEST(DecodePngTest, AChangedByteNeverCrashes) {
  const std::string png = png_bytes({.width = 9, .height = 9}, slope(9, 9, 3));
  int num_errors = 0;
  for (size_t at = 0; at < png.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = png;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      try {
        decode(damaged, {.max_pixels = 1000});
      } catch (const DataError& error) {
        EXPECT_THAT(error.what(), HasSubstr("it.png"));
        ++num_errors;
      }
    }
  }
  EXPECT_GT(num_errors, static_cast<int>(png.size()) * 2);  // checksums find nearly all
}

TEST(DecodePngTest, AHugeSizeInTheHeaderIsRefusedBeforeMemoryIsTaken) {
  const std::string png = flat_png(100, 50, 1);
  EXPECT_EQ(decode_error(png, {.max_pixels = 4999}),
            "[decode_image] it.png is too large: 100 x 50 pixels (width x height), at most 4999 are allowed. Is it "
            "damaged? If not, set max_pixels higher.");
  EXPECT_EQ(decode(png, {.max_pixels = 5000}).sizes(), (std::vector<int64_t>{3, 50, 100}));
  // The largest sizes that a header can name.
  const std::string wide = png_bytes({.width = 1000000, .height = 1, .color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 1},
                                     std::string(125000, '\0'));
  EXPECT_THAT(decode_error(wide, {.max_pixels = 999999}), HasSubstr("is too large: 1000000 x 1 pixels"));
}

TEST(DecodeJpegTest, RgbAndGreyAreRead) {
  const std::string rgb = jpeg_bytes({.width = 20, .height = 10}, slope(20, 10, 3));
  expect_slope(decode(rgb), 3);
  EXPECT_EQ(decode(rgb, {.channels = 1}).sizes(), (std::vector<int64_t>{1, 10, 20}));
  const std::string grey = jpeg_bytes({.width = 20, .height = 10, .channels = 1}, slope(20, 10, 1));
  expect_slope(decode(grey, {.channels = 1}), 2);
  const at::Tensor planes = decode(grey);
  EXPECT_EQ(planes.size(0), 3);
  EXPECT_TRUE(planes[0].equal(planes[2]));
}

TEST(DecodeJpegTest, ProgressiveIsTheSame) {
  const at::Tensor plain = decode(jpeg_bytes({.width = 20, .height = 10}, slope(20, 10, 3)));
  const at::Tensor progressive =
      decode(jpeg_bytes({.width = 20, .height = 10, .is_progressive = true}, slope(20, 10, 3)));
  EXPECT_TRUE(plain.equal(progressive));
}

// Ink c m y k of 255 parts gives red (255 - c) * (255 - k) / 255.
TEST(DecodeJpegTest, CmykBecomesRgb) {
  std::string ink;
  std::string inverted;
  for (int i = 0; i < 64; ++i) {
    ink += text_of({255, 0, 0, 51});
    inverted += text_of({0, 255, 255, 204});
  }
  const at::Tensor plain = decode(jpeg_bytes({.width = 8, .height = 8, .channels = 4, .has_adobe_marker = false}, ink));
  const at::Tensor adobe = decode(jpeg_bytes({.width = 8, .height = 8, .channels = 4}, inverted));
  for (const at::Tensor& image : {plain, adobe}) {
    EXPECT_EQ(image.sizes(), (std::vector<int64_t>{3, 8, 8}));
    EXPECT_NEAR(image[0][3][3].item<uint8_t>(), 0, 2);
    EXPECT_NEAR(image[1][3][3].item<uint8_t>(), 204, 2);
    EXPECT_NEAR(image[2][3][3].item<uint8_t>(), 204, 2);
  }
}

TEST(DecodeJpegTest, TheOrientationOfExifIsNotApplied) {
  // Big-endian TIFF with one entry: orientation (0x0112), a short, 6: to be turned by 90 degrees.
  const std::string exif = text_of({'E',  'x',  'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1,
                                    0x01, 0x12, 0,   3,   0, 0, 0,   1,   0, 6,  0, 0, 0, 0, 0, 0});
  const at::Tensor image = decode(jpeg_bytes({.width = 20, .height = 10, .exif = exif}, slope(20, 10, 3)));
  EXPECT_EQ(image.sizes(), (std::vector<int64_t>{3, 10, 20}));
  expect_slope(image, 3);
}

TEST(DecodeJpegTest, AFileCutAnywhereIsAnErrorWithItsName) {
  for (const bool is_progressive : {false, true}) {
    const std::string jpeg =
        jpeg_bytes({.width = 20, .height = 10, .is_progressive = is_progressive}, slope(20, 10, 3));
    // The last two bytes only say that it ends.
    for (size_t size = 0; size < jpeg.size() - 2; ++size) {
      EXPECT_THAT(decode_error(jpeg.substr(0, size)), HasSubstr("it.png")) << size;
    }
  }
}

TEST(DecodeJpegTest, AChangedByteNeverCrashes) {
  const std::string jpeg = jpeg_bytes({.width = 20, .height = 10, .is_progressive = true}, slope(20, 10, 3));
  int num_errors = 0;
  for (size_t at = 0; at < jpeg.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = jpeg;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      try {
        decode(damaged, {.max_pixels = 1000});
      } catch (const DataError& error) {
        EXPECT_THAT(error.what(), HasSubstr("it.png"));
        ++num_errors;
      }
    }
  }
  EXPECT_GT(num_errors, 0);
}

TEST(DecodeJpegTest, EndlessScansAreRefused) {
  const std::string jpeg = jpeg_bytes({.width = 20, .height = 10, .is_progressive = true}, slope(20, 10, 3));
  // The first scan, which may come any number of times, ends where the tables of the second begin.
  const size_t begin = jpeg.find("\xff\xda");
  const size_t end = jpeg.find("\xff\xc4", begin);
  ASSERT_NE(end, std::string::npos);
  std::string bomb = jpeg.substr(0, end);
  for (int i = 0; i < 600; ++i) bomb += jpeg.substr(begin, end - begin);
  EXPECT_EQ(decode_error(bomb + jpeg.substr(end)),
            "[decode_image] it.png is a damaged JPEG: it has more than 500 scans.");
}

TEST(DecodeJpegTest, ALargeImageIsRefusedOrDecodedSmaller) {
  const std::string jpeg =
      jpeg_bytes({.width = 64, .height = 48}, slope(64, 48, 1) + slope(64, 48, 1) + slope(64, 48, 1));
  EXPECT_THAT(decode_error(jpeg, {.max_pixels = 64 * 48 - 1}), HasSubstr("it.png is too large: 64 x 48 pixels"));
  EXPECT_EQ(decode(jpeg, {.min_side = 12}).sizes(), (std::vector<int64_t>{3, 12, 16}));
  EXPECT_EQ(decode(jpeg, {.min_side = 13}).sizes(), (std::vector<int64_t>{3, 24, 32}));
  EXPECT_EQ(decode(jpeg, {.min_side = 25}).sizes(), (std::vector<int64_t>{3, 48, 64}));
}

TEST(DecodeImageTest, AnotherFormatIsNamedByItsFirstBytes) {
  EXPECT_EQ(decode_error("GIF89a"),
            "[decode_image] it.png is neither PNG nor JPEG: it begins with the bytes 47 49 46 38 39 61. Convert it.");
}

TEST(DecodeImageTest, AFileThatCannotBeReadIsNamed) {
  const TestFolder folder;
  EXPECT_EQ(error_text<DataError>([] { decode_image("/nowhere/a.png"); }),
            "[decode_image] cannot read /nowhere/a.png: No such file or directory.");
  EXPECT_THAT(error_text<DataError>([&] { decode_image(folder.path()); }), HasSubstr(folder.path().string()));
  write_bytes(folder / "a.png", "");
  EXPECT_THAT(error_text<DataError>([&] { decode_image(folder / "a.png"); }), HasSubstr("a.png is empty"));
}

TEST(DecodeImageTest, OptionsOutOfRangeAreRefused) {
  const std::string png = flat_png(1, 1, 0);
  EXPECT_THROW(decode(png, {.channels = 2}), ConfigError);
  EXPECT_THROW(decode(png, {.max_pixels = 0}), ConfigError);
  EXPECT_THROW(decode(png, {.min_side = -1}), ConfigError);
}

}  // namespace
}  // namespace levin
