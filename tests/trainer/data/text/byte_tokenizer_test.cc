#include "trainer/data/text/byte_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/text/text_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ByteTokenizerTest, ATokenIsAByte) {
  const ByteTokenizer tokenizer;
  EXPECT_THAT(tokenizer.encode("Az\u00e9"), ElementsAre(65, 122, 0xC3, 0xA9));
  EXPECT_EQ(tokenizer.decode(std::vector<uint32_t>{65, 256, 0xC3, 0xA9}), "A\u00e9");
  EXPECT_TRUE(tokenizer.encode("").empty());
  EXPECT_EQ(tokenizer.vocab_size(), 257);
  EXPECT_EQ(tokenizer.end_of_text(), 256u);
  EXPECT_EQ(tokenizer.find_token("a"), 97u);
  EXPECT_EQ(tokenizer.find_token("ab"), std::nullopt);
  EXPECT_EQ(tokenizer.name(), "bytes");
}

TEST(ByteTokenizerTest, AnyBytesComeBack) {
  std::mt19937 generator(3);
  const ByteTokenizer tokenizer;
  for (int i = 0; i < 200; ++i) {
    const std::string text = random_bytes(generator, 40);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(ByteTokenizerTest, UnknownTokensAreErrors) {
  EXPECT_THAT(error_text<DataError>([] {
                ByteTokenizer().decode(std::vector<uint32_t>{1, 257});
              }),
              HasSubstr("a token must be in [0, 256], got 257"));
}

}  // namespace
}  // namespace levin
