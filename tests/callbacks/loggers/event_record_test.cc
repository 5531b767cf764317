#include "callbacks/loggers/event_record.h"

#include <gtest/gtest.h>

namespace levin {
namespace {

TEST(EventRecordTest, ChecksumsAreThoseOfRfc3720) {
  std::string rising;
  for (char i = 0; i < 32; ++i) rising += i;
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(crc32c(std::string(rising.rbegin(), rising.rend())), 0x113fdb5cu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(EventRecordTest, ChecksumIsRotatedAndMoved) {
  // 0xe3069283 rotated right by 15 is 0x2507c60d.
  EXPECT_EQ(masked_crc32c("123456789"), 0x2507c60du + 0xa282ead8u);
  EXPECT_EQ(masked_crc32c(""), 0xa282ead8u);
}

TEST(EventRecordTest, RecordHasLengthPayloadAndBothChecksums) {
  std::string out = "before";
  append_record(out, "123456789");
  ASSERT_EQ(out.size(), 6 + 8 + 4 + 9 + 4u);
  EXPECT_EQ(out.substr(6, 8), std::string("\x09\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(out.substr(18, 9), "123456789");
  EXPECT_EQ(out.substr(27), "\xe5\xb0\x8a\xc7");  // 0xc78ab0e5
}

}  // namespace
}  // namespace levin
