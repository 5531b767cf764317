#include "trainer/data/tokens/token_file_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tokens/token_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Names = std::vector<std::string>;

TEST(TokenFileWriterTest, WritesRawLittleEndianTokens) {
  const TestFolder folder;
  write_tokens(folder / "a.bin", {1, 0x1234, 65535}, {.vocab_size = 65536, .tokenizer = "bytes", .end_of_text = 2});
  EXPECT_EQ(read_bytes(folder / "a.bin"), std::string("\x01\x00\x34\x12\xff\xff", 6));
  EXPECT_EQ(read_token_file_info(folder / "a.bin"),
            (TokenFileInfo{.num_tokens = 3, .vocab_size = 65536, .tokenizer = "bytes", .end_of_text = 2}));
  write_tokens(folder / "b.bin", {1, 0xfffefdfc}, {.type = TokenType::kUint32});
  EXPECT_EQ(read_bytes(folder / "b.bin"), std::string("\x01\x00\x00\x00\xfc\xfd\xfe\xff", 8));
  EXPECT_EQ(folder.names(), (Names{"a.bin", "a.bin.json", "b.bin", "b.bin.json"}));
}

TEST(TokenFileWriterTest, AppendsPiecesOfAnySize) {
  const TestFolder folder;
  std::vector<uint32_t> expected;
  TokenFileWriter writer(folder / "a.bin", {.type = TokenType::kUint32, .num_tokens = 99});
  for (const size_t count : {size_t{0}, size_t{1}, size_t{300000}, size_t{7}, size_t{262144}}) {
    const std::vector<uint32_t> tokens = ramp(static_cast<uint32_t>(expected.size()), count);
    writer.append(tokens);
    expected.insert(expected.end(), tokens.begin(), tokens.end());
  }
  EXPECT_EQ(writer.num_tokens(), static_cast<int64_t>(expected.size()));
  writer.close();
  EXPECT_TRUE(read_bytes(folder / "a.bin") == raw_tokens(expected));
  EXPECT_EQ(read_token_file_info(folder / "a.bin")->num_tokens, static_cast<int64_t>(expected.size()));
}

TEST(TokenFileWriterTest, LeavesNothingBehindUnlessItIsClosed) {
  const TestFolder folder;
  write_tokens(folder / "old.bin", {1, 2, 3});
  for (const char* name : {"new.bin", "old.bin"}) {
    TokenFileWriter writer(folder / name, {.type = TokenType::kUint32});
    writer.append(ramp(0, 1000000));
  }
  EXPECT_EQ(folder.names(), (Names{"old.bin", "old.bin.json"}));
  EXPECT_EQ(read_bytes(folder / "old.bin"), raw_tokens<uint16_t>({1, 2, 3}));
  EXPECT_EQ(read_token_file_info(folder / "old.bin")->num_tokens, 3);
}

TEST(TokenFileWriterTest, ReplacesBothFiles) {
  const TestFolder folder;
  write_tokens(folder / "a.bin", {1, 2, 3});
  write_tokens(folder / "a.bin", {70000}, {.type = TokenType::kUint32});
  EXPECT_EQ(read_bytes(folder / "a.bin"), raw_tokens<uint32_t>({70000}));
  EXPECT_EQ(read_token_file_info(folder / "a.bin"), (TokenFileInfo{.type = TokenType::kUint32, .num_tokens = 1}));
  EXPECT_EQ(folder.names(), (Names{"a.bin", "a.bin.json"}));
}

TEST(TokenFileWriterTest, RefusesTokensThatDoNotFit) {
  const TestFolder folder;
  TokenFileWriter narrow(folder / "a.bin", {});
  narrow.append(ramp(0, 10));
  EXPECT_THAT(error_text<DataError>([&] {
                narrow.append(std::vector<uint32_t>{5, 65535, 65536});
              }),
              AllOf(HasSubstr("token 12 of"), HasSubstr("a.bin"), HasSubstr("must be below 65536"),
                    HasSubstr("got 65536"), HasSubstr("uint32")));
  narrow.append(ramp(0, 1));
  narrow.close();
  EXPECT_EQ(std::filesystem::file_size(folder / "a.bin"), 22u);

  TokenFileWriter small(folder / "b.bin", {.vocab_size = 300});
  EXPECT_THAT(error_text<DataError>([&] { small.append(ramp(299, 2)); }),
              AllOf(HasSubstr("token 1 of"), HasSubstr("must be below 300"), HasSubstr("got 300")));

  TokenFileWriter wide(folder / "c.bin", {.type = TokenType::kUint32});
  EXPECT_NO_THROW(wide.append(std::vector<uint32_t>{UINT32_MAX}));
}

TEST(TokenFileWriterTest, RefusesInfoThatDoesNotFitTheType) {
  const TestFolder folder;
  const auto text = [&](const TokenFileInfo& info) {
    return error_text<ConfigError>([&] { TokenFileWriter(folder / "a.bin", info); });
  };
  EXPECT_THAT(text({.vocab_size = 65537}), HasSubstr("vocab_size must be between 0 and 65536 for uint16, got 65537"));
  EXPECT_THAT(text({.vocab_size = -1}), HasSubstr("got -1"));
  EXPECT_THAT(text({.vocab_size = 10, .end_of_text = 10}), HasSubstr("end_of_text must be between 0 and 9"));
  EXPECT_THAT(text({.end_of_text = 65536}), HasSubstr("got 65536"));
  EXPECT_EQ(folder.names(), Names{});
}

TEST(TokenFileWriterTest, AFolderThatIsMissingIsAnOutputError) {
  const TestFolder folder;
  EXPECT_THAT(error_text<OutputError>([&] { TokenFileWriter(folder / "none" / "a.bin", {}); }),
              AllOf(HasSubstr("none"), HasSubstr("No such file")));
}

TEST(TokenFileWriterTest, AClosedWriterTakesNoMore) {
  const TestFolder folder;
  TokenFileWriter writer(folder / "a.bin", {});
  writer.close();
  EXPECT_THROW(writer.append(ramp(0, 1)), InternalError);
  EXPECT_THROW(writer.close(), InternalError);
  EXPECT_EQ(read_token_file_info(folder / "a.bin")->num_tokens, 0);
}

}  // namespace
}  // namespace levin
