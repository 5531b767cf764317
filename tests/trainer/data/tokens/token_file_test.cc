#include "trainer/data/tokens/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>

#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tokens/token_test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Values = std::vector<int64_t>;

Values read(const TokenFile& file, int64_t begin, int64_t count) {
  Values tokens(static_cast<size_t>(count));
  file.read(begin, tokens);
  return tokens;
}

std::string open_text(const std::filesystem::path& path, std::optional<TokenType> type = std::nullopt) {
  return error_text<DataError>([&] { TokenFile(path, type); });
}

// Memory of the process in kB, with mapped files.
int64_t resident_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    int64_t value = 0;
    status >> value;
    return value;
  }
  return 0;
}

TEST(TokenFileTest, ReadsTokensOfAnotherProgram) {
  const TestFolder folder;
  write_bytes(folder / "train.bin", raw_tokens<uint16_t>({1, 50256, 65535}));
  const TokenFile file(folder / "train.bin", TokenType::kUint16);
  EXPECT_EQ(file.size(), 3);
  EXPECT_EQ(file.type(), TokenType::kUint16);
  EXPECT_FALSE(file.info().has_value());
  EXPECT_EQ(read(file, 0, 3), (Values{1, 50256, 65535}));
  write_bytes(folder / "wide.bin", raw_tokens<uint32_t>({65536, 4294967295}));
  EXPECT_EQ(read(TokenFile(folder / "wide.bin", TokenType::kUint32), 0, 2), (Values{65536, 4294967295}));
}

TEST(TokenFileTest, TakesTheTypeFromTheSideFile) {
  const TestFolder folder;
  write_tokens(folder / "a.bin", {65536, 7}, {.type = TokenType::kUint32, .vocab_size = 70000});
  const TokenFile file(folder / "a.bin");
  EXPECT_EQ(read(file, 0, 2), (Values{65536, 7}));
  EXPECT_EQ(file.info()->vocab_size, 70000);
  EXPECT_EQ(TokenFile(folder / "a.bin", TokenType::kUint32).size(), 2);
}

TEST(TokenFileTest, ReadsAnyRangeAndFindsTheLargest) {
  const TestFolder folder;
  for (const TokenType type : {TokenType::kUint16, TokenType::kUint32}) {
    const auto file = ramp_file(folder / "a.bin", 100, 1000, {.type = type});
    for (const int64_t count : {0, 1, 31, 32, 33, 64, 500}) {
      for (const int64_t begin : {int64_t{0}, int64_t{1}, 1000 - count}) {
        Values tokens(static_cast<size_t>(count), -1);
        const uint32_t largest = file->read(begin, tokens);
        Values expected(static_cast<size_t>(count));
        std::iota(expected.begin(), expected.end(), 100 + begin);
        EXPECT_EQ(tokens, expected);
        EXPECT_EQ(largest, count == 0 ? 0 : expected.back());
      }
    }
  }
  write_tokens(folder / "b.bin", {3, 65535, 32768, 1});
  Values tokens(4);
  EXPECT_EQ(TokenFile(folder / "b.bin").read(0, tokens), 65535u);
}

TEST(TokenFileTest, ReadsARangeTogetherWithTheOneAfterIt) {
  const TestFolder folder;
  for (const TokenType type : {TokenType::kUint16, TokenType::kUint32}) {
    const auto file = ramp_file(folder / "a.bin", 100, 200, {.type = type});
    for (const int64_t count : {0, 1, 31, 32, 33, 150}) {
      for (const int64_t begin : {int64_t{0}, int64_t{1}, 199 - count}) {
        Values input(static_cast<size_t>(count), -1);
        Values target(static_cast<size_t>(count), -1);
        const uint32_t largest = file->read_shifted(begin, input, target);
        EXPECT_EQ(input, read(*file, begin, count));
        EXPECT_EQ(target, read(*file, begin + 1, count));
        EXPECT_EQ(largest, count == 0 ? 0 : target.back());
      }
    }
    Values input(200);
    Values target(200);
    EXPECT_THROW(file->read_shifted(0, input, target), DataError);
  }
}

TEST(TokenFileTest, RefusesARangeOutsideOfTheFile) {
  const TestFolder folder;
  const auto file = ramp_file(folder / "a.bin", 0, 10);
  EXPECT_THAT(error_text<DataError>([&] { read(*file, 8, 3); }),
              AllOf(HasSubstr("a.bin"), HasSubstr("10"), HasSubstr("3 from 8")));
  EXPECT_THROW(read(*file, -1, 1), DataError);
  EXPECT_THROW(read(*file, 11, 0), DataError);
  EXPECT_EQ(read(*file, 10, 0), Values{});
}

TEST(TokenFileTest, NamesWhatIsWrongWithAFile) {
  const TestFolder folder;
  EXPECT_THAT(open_text(folder / "none.bin", TokenType::kUint16), HasSubstr("none.bin"));
  EXPECT_THAT(open_text(folder.path(), TokenType::kUint16), HasSubstr(folder.path().string()));
  write_bytes(folder / "a.bin", "");
  EXPECT_THAT(open_text(folder / "a.bin", TokenType::kUint16), AllOf(HasSubstr("a.bin"), HasSubstr("empty")));
  write_bytes(folder / "a.bin", "123");
  EXPECT_THAT(open_text(folder / "a.bin", TokenType::kUint16),
              AllOf(HasSubstr("a.bin"), HasSubstr("uint16"), HasSubstr("2 bytes"), HasSubstr("got 3 bytes")));
  write_bytes(folder / "a.bin", "123456");
  EXPECT_EQ(TokenFile(folder / "a.bin", TokenType::kUint16).size(), 3);
  EXPECT_THAT(open_text(folder / "a.bin", TokenType::kUint32), HasSubstr("got 6 bytes"));
  EXPECT_THAT(open_text(folder / "a.bin"), AllOf(HasSubstr("a.bin.json"), HasSubstr("uint16 or uint32")));
}

TEST(TokenFileTest, NamesWhatDoesNotFitTheSideFile) {
  const TestFolder folder;
  write_tokens(folder / "a.bin", {1, 2, 3, 4});
  EXPECT_THAT(open_text(folder / "a.bin", TokenType::kUint32),
              AllOf(HasSubstr("a.bin.json"), HasSubstr("which is uint16, got uint32")));
  std::filesystem::resize_file(folder / "a.bin", 6);
  EXPECT_THAT(open_text(folder / "a.bin"),
              AllOf(HasSubstr("a.bin"), HasSubstr("the 4 tokens"), HasSubstr("got 3"), HasSubstr("cut off")));
  write_bytes(folder / "a.bin.json", "{");
  EXPECT_THAT(open_text(folder / "a.bin", TokenType::kUint16), HasSubstr("a.bin.json"));
}

TEST(TokenFileTest, NoticesThatAFileInUseHasBeenCut) {
  const TestFolder folder;
  const auto file = ramp_file(folder / "a.bin", 0, 60000);
  EXPECT_EQ(read(*file, 59999, 1), Values{59999});
  std::filesystem::resize_file(folder / "a.bin", 10);
  EXPECT_THAT(error_text<DataError>([&] { read(*file, 59999, 1); }),
              AllOf(HasSubstr("a.bin"), HasSubstr("120000 bytes, now 10")));
  EXPECT_EQ(read(*file, 4, 1), Values{4});
}

// More than what is read in one call.
TEST(TokenFileTest, ReadsLongRanges) {
  const TestFolder folder;
  for (const TokenType type : {TokenType::kUint16, TokenType::kUint32}) {
    const auto file = ramp_file(folder / "a.bin", 0, 10000, {.type = type});
    for (const int64_t count : {2047, 2048, 2049, 4096, 9998}) {
      Values expected(static_cast<size_t>(count));
      std::iota(expected.begin(), expected.end(), 1);
      EXPECT_EQ(read(*file, 1, count), expected);
      Values input(static_cast<size_t>(count), -1);
      Values target(static_cast<size_t>(count), -1);
      EXPECT_EQ(file->read_shifted(1, input, target), static_cast<uint32_t>(count + 1));
      EXPECT_EQ(input, expected);
      EXPECT_EQ(target, read(*file, 2, count));
    }
  }
}

TEST(TokenFileTest, MemoryDoesNotGrowWithWhatIsRead) {
  const TestFolder folder;
  const auto file = ramp_file(folder / "a.bin", 0, 8'000'000, {.type = TokenType::kUint32});
  Values tokens(4096);
  file->read(0, tokens);
  const int64_t before = resident_memory();
  for (int64_t begin = 0; begin + 4096 <= file->size(); begin += 4096) file->read(begin, tokens);
  EXPECT_LT(resident_memory() - before, 1024);
}

TEST(TokenFileTest, AFileThatIsReplacedStaysReadable) {
  const TestFolder folder;
  const auto file = ramp_file(folder / "a.bin", 0, 100);
  write_tokens(folder / "a.bin", {9});
  EXPECT_EQ(read(*file, 98, 2), (Values{98, 99}));
}

TEST(TokenFileTest, OpensALargeFileWithoutReadingIt) {
  const TestFolder folder;
  write_bytes(folder / "large.bin", raw_tokens<uint16_t>({7}));
  constexpr int64_t kNumTokens = int64_t{1} << 31;
  std::filesystem::resize_file(folder / "large.bin", kNumTokens * 2);  // takes no space on the disk
  const int64_t before = resident_memory();
  const auto start = std::chrono::steady_clock::now();
  const TokenFile file(folder / "large.bin", TokenType::kUint16);
  EXPECT_EQ(read(file, 0, 2), (Values{7, 0}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  for (int64_t i = 1; i <= 100; ++i) EXPECT_EQ(read(file, kNumTokens / 100 * i - 10, 1), (Values{0}));
  EXPECT_EQ(file.size(), kNumTokens);
  EXPECT_LT(resident_memory() - before, 1024);
}

}  // namespace
}  // namespace levin
