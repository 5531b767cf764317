#include "trainer/config/tokenize_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/trainer/checkpoint/test_files.h"

namespace levin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// A second passes with each look at its clock.
class SteppingConsole final : public Console {
 public:
  explicit SteppingConsole(bool is_a_terminal) : is_a_terminal_(is_a_terminal) {}
  void write(std::string_view text) override { writes.emplace_back(text); }
  bool is_terminal() const override { return is_a_terminal_; }
  bool has_colors() const override { return false; }
  bool is_utf8() const override { return false; }
  int64_t num_columns() const override { return 80; }
  double now_s() const override { return now_s_ += 1.0; }

  std::vector<std::string> writes;

 private:
  bool is_a_terminal_;
  mutable double now_s_ = 0.0;
};

class TokenizeCommandTest : public testing::Test {
 protected:
  TokenizeResult run(Console& console, size_t num_bytes) const {
    write_bytes(folder_ / "a.txt", std::string(num_bytes, 'a'));
    return tokenize_to_file(parse_tokenize_arguments({folder_ / "a.txt", "-o", folder_ / "out.bin"}), console);
  }
  const TestFolder folder_;
};

TEST_F(TokenizeCommandTest, ATerminalHasABarInPlace) {
  SteppingConsole console(true);
  const TokenizeResult result = run(console, 3'000'000);
  EXPECT_EQ(result.done.num_tokens, 3'000'001);
  EXPECT_EQ(result.type, "uint16");
  EXPECT_EQ(result.signal, 0);
  ASSERT_GE(console.writes.size(), 4u);  // 3 parts of about 1 MB, the end, and a line's end
  EXPECT_THAT(console.writes[0], StartsWith("\rTokenize "));
  EXPECT_THAT(console.writes[0], HasSubstr("/3 [00:01<"));
  EXPECT_THAT(console.writes[console.writes.size() - 2], HasSubstr("=== 3/3 ["));
  EXPECT_THAT(console.writes[console.writes.size() - 2], HasSubstr("MB/s] million_tokens 3.000\x1b[K"));
  EXPECT_EQ(console.writes.back(), "\n");
}

TEST_F(TokenizeCommandTest, ElsewhereALineComesNowAndThen) {
  SteppingConsole console(false);
  run(console, 8'000'000);
  ASSERT_EQ(console.writes.size(), 2u);  // after 5 seconds, and at the end
  EXPECT_THAT(console.writes[0], StartsWith("Tokenize "));
  EXPECT_THAT(console.writes[0], HasSubstr("/8 [00:05<"));
  EXPECT_THAT(console.writes[1], HasSubstr("Tokenize 8/8 [00:"));
  EXPECT_TRUE(console.writes[1].ends_with(" million_tokens 8.000\n"));
}

TEST(TokenizeArgumentsTest, EverythingCanBeGiven) {
  const TokenizeArguments arguments =
      parse_tokenize_arguments({"a.txt", "--output", "o.bin", "b.gz", "-t", "t.json", "--separator=--", "--end-of-text",
                                "</s>", "--threads", "3"});
  EXPECT_THAT(arguments.files, ElementsAre("a.txt", "b.gz"));
  EXPECT_EQ(arguments.output, "o.bin");
  EXPECT_EQ(arguments.tokenizer, "t.json");
  EXPECT_EQ(arguments.documents, "separator");
  EXPECT_EQ(arguments.separator, "--");
  EXPECT_EQ(arguments.end_of_text, "</s>");
  EXPECT_EQ(arguments.num_threads, 3);
}

TEST(TokenizeArgumentsTest, DefaultsAreThoseOfTheHelp) {
  const TokenizeArguments arguments = parse_tokenize_arguments({"a.txt", "-o", "o.bin"});
  EXPECT_EQ(arguments.tokenizer, "bytes");
  EXPECT_EQ(arguments.documents, "file");
  EXPECT_EQ(arguments.end_of_text, std::nullopt);
  EXPECT_GE(arguments.num_threads, 1);
  EXPECT_THAT(tokenize_help(), HasSubstr("\"file\" (default)"));
}

}  // namespace
}  // namespace levin
