#include "trainer/data/tokens/token_file_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tokens/token_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string damage_text(const std::string& json) {
  const TestFolder folder;
  write_bytes(folder / "a.bin.json", json);
  return error_text<DataError>([&] { read_token_file_info(folder / "a.bin"); });
}

TEST(TokenFileInfoTest, ReadsWhatItWrote) {
  const TestFolder folder;
  const TokenFileInfo full = {.type = TokenType::kUint32,
                              .num_tokens = int64_t{1} << 40,
                              .vocab_size = 100277,
                              .tokenizer = "cl100k \"base\" \xc3\xa4",
                              .end_of_text = 100257};
  write_token_file_info(folder / "a.bin", full);
  EXPECT_EQ(read_token_file_info(folder / "a.bin"), full);
  write_token_file_info(folder / "a.bin", {.num_tokens = 3, .end_of_text = 0});
  EXPECT_EQ(read_token_file_info(folder / "a.bin"), (TokenFileInfo{.num_tokens = 3, .end_of_text = 0}));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.bin.json"});
}

TEST(TokenFileInfoTest, IsNoneWhereThereIsNoSideFile) {
  const TestFolder folder;
  EXPECT_EQ(read_token_file_info(folder / "a.bin"), std::nullopt);
}

TEST(TokenFileInfoTest, PassesOverKeysThatItDoesNotKnow) {
  const TestFolder folder;
  write_bytes(
      folder / "a.bin.json",
      R"({"source": [1, 2], "format": "levin-tokens", "type": "uint16", "num_tokens": 7, "end_of_text": null})");
  EXPECT_EQ(read_token_file_info(folder / "a.bin"), (TokenFileInfo{.num_tokens = 7}));
}

TEST(TokenFileInfoTest, NamesTheDamage) {
  EXPECT_THAT(damage_text(""), HasSubstr("a.bin.json"));
  EXPECT_THAT(damage_text("{\"format\": \"levin-tok"), HasSubstr("a.bin.json"));
  EXPECT_THAT(damage_text("[1]"), HasSubstr("a.bin.json"));
  EXPECT_THAT(damage_text("{}"), AllOf(HasSubstr("a.bin.json"), HasSubstr("\"format\" must be a text, got none")));
  EXPECT_THAT(damage_text(R"({"format": "npy"})"), HasSubstr("\"format\" must be \"levin-tokens\", got \"npy\""));
  EXPECT_THAT(damage_text(R"({"format": 1})"), HasSubstr("\"format\" must be a text, got 1"));
  const std::string begin = R"({"format": "levin-tokens", "type": )";
  EXPECT_THAT(damage_text(begin + R"("int8", "num_tokens": 1})"), HasSubstr("got \"int8\""));
  EXPECT_THAT(damage_text(begin + R"("uint16"})"), HasSubstr("\"num_tokens\" must be a whole number >= 0, got none"));
  for (const std::string value : {"-1", "1.5", "\"3\"", "18446744073709551615", "1e3"}) {
    EXPECT_THAT(damage_text(begin + R"("uint16", "num_tokens": )" + value + "}"),
                HasSubstr("\"num_tokens\" must be a whole number >= 0, got "));
  }
  EXPECT_THAT(damage_text(begin + R"("uint16", "num_tokens": null})"),
              HasSubstr("\"num_tokens\" must be a whole number >= 0, got null"));
  EXPECT_THAT(damage_text(begin + R"("uint16", "num_tokens": 1, "end_of_text": -5})"),
              HasSubstr("\"end_of_text\" must be a whole number >= 0, got -5"));
  EXPECT_THAT(damage_text(begin + R"("uint16", "num_tokens": 1, "tokenizer": 5})"), HasSubstr("\"tokenizer\""));
}

TEST(TokenFileInfoTest, AWriteThatFailsIsAnOutputError) {
  const TestFolder folder;
  EXPECT_THAT(error_text<OutputError>([&] { write_token_file_info(folder / "none" / "a.bin", {}); }),
              HasSubstr("none"));
}

TEST(TokenFileInfoTest, KnowsTheTypes) {
  EXPECT_EQ(token_type_of_name("uint16"), TokenType::kUint16);
  EXPECT_EQ(token_type_of_name("uint32"), TokenType::kUint32);
  EXPECT_EQ(token_type_of_name("int32"), std::nullopt);
  EXPECT_EQ(smallest_token_type(65536), TokenType::kUint16);
  EXPECT_EQ(smallest_token_type(65537), TokenType::kUint32);
  EXPECT_EQ(token_size(TokenType::kUint16), 2);
  EXPECT_EQ(token_size(TokenType::kUint32), 4);
  EXPECT_EQ(largest_token(TokenType::kUint16), 65535u);
  EXPECT_EQ(largest_token(TokenType::kUint32), 4294967295u);
}

}  // namespace
}  // namespace levin
