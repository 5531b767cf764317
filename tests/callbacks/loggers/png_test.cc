#include "callbacks/loggers/png.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

#include "trainer/core/error.h"

namespace levin {
namespace {

uint32_t big_endian(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

struct Chunk {
  std::string type;
  std::string content;
};

std::vector<Chunk> read_chunks(const std::string& png) {
  std::vector<Chunk> chunks;
  for (size_t at = 8; at + 12 <= png.size();) {
    const uint32_t size = big_endian(png, at);
    const std::string checked = png.substr(at + 4, size + 4);
    EXPECT_EQ(big_endian(png, at + 8 + size),
              crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size())));
    chunks.push_back({checked.substr(0, 4), checked.substr(4)});
    at += 12 + size;
  }
  return chunks;
}

std::string inflate_all(const std::string& text) {
  std::string out(1000, '\0');
  uLongf size = out.size();
  EXPECT_EQ(
      uncompress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size()),
      Z_OK);
  return out.substr(0, size);
}

TEST(PngTest, RowsAreKept) {
  const std::vector<uint8_t> pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255};  // 2 rows, 2 columns, RGB
  const std::string png = encode_png(pixels, 2, 2, 3);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const std::vector<Chunk> chunks = read_chunks(png);
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].type, "IHDR");
  EXPECT_EQ(chunks[0].content, std::string("\0\0\0\2\0\0\0\2\x8\2\0\0\0", 13));
  EXPECT_EQ(chunks[1].type, "IDAT");
  EXPECT_EQ(inflate_all(chunks[1].content), std::string("\0\1\2\3\4\5\6\0\7\x8\x9\xa\xb\xff", 14));
  EXPECT_EQ(chunks[2].type, "IEND");
  EXPECT_EQ(chunks[2].content, "");
}

TEST(PngTest, GreyHasOneChannelAndWidthComesFirst) {
  const std::vector<uint8_t> pixels = {1, 2, 3};
  const std::vector<Chunk> chunks = read_chunks(encode_png(pixels, 1, 3, 1));
  EXPECT_EQ(chunks.at(0).content, std::string("\0\0\0\3\0\0\0\1\x8\0\0\0\0", 13));
  EXPECT_EQ(inflate_all(chunks.at(1).content), std::string("\0\1\2\3", 4));
}

TEST(PngTest, SizesThatDoNotFitAreFaults) {
  const std::vector<uint8_t> pixels(12);
  EXPECT_THROW(encode_png(pixels, 2, 3, 3), InternalError);
  EXPECT_THROW(encode_png(pixels, 2, 3, 2), InternalError);
  EXPECT_THROW(encode_png({}, 0, 3, 1), InternalError);
}

}  // namespace
}  // namespace levin
