#include "trainer/data/text/split_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"
#include "trainer/data/text/bpe_file.h"

namespace levin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> split(const std::string& pattern, std::string_view text) {
  const SplitPattern compiled(pattern);
  PieceScanner scanner(&compiled);
  scanner.start(text);
  std::vector<std::string> pieces;
  for (std::string_view piece = scanner.next(); !piece.empty(); piece = scanner.next()) pieces.emplace_back(piece);
  return pieces;
}

TEST(SplitPatternTest, MatchesAndWhatLiesBetweenArePieces) {
  EXPECT_THAT(split("b+", "abbcb"), ElementsAre("a", "bb", "c", "b"));
  EXPECT_THAT(split("x*", "axxb"), ElementsAre("a", "xx", "b"));
  EXPECT_THAT(split("x", "abc"), ElementsAre("abc"));
  EXPECT_TRUE(split("x", "").empty());
}

TEST(SplitPatternTest, WithoutAPatternTheTextIsOnePiece) {
  PieceScanner scanner(nullptr);
  scanner.start("a b");
  EXPECT_EQ(scanner.next(), "a b");
  EXPECT_EQ(scanner.next(), "");
  scanner.start("");
  EXPECT_EQ(scanner.next(), "");
}

TEST(SplitPatternTest, GptTwoKeepsASpaceWithItsWord) {
  EXPECT_THAT(split(kByteLevelPattern, "it's  a\n\nt\u00e9st 12!"),
              ElementsAre("it", "'s", " ", " a", "\n", "\n", "t\u00e9st", " 12", "!"));
}

// U+180E is white space for PCRE2 alone, U+0085 for Unicode too.
TEST(SplitPatternTest, WhiteSpaceIsThatOfUnicode) {
  EXPECT_THAT(split("\\s", "a\u180eb\u0085c\u3000d"), ElementsAre("a\u180eb", "\u0085", "c", "\u3000", "d"));
  EXPECT_THAT(split("[^\\s]+", "a\u180eb\u0085c"), ElementsAre("a\u180eb", "\u0085", "c"));
  EXPECT_THAT(split("\\S+", "a\u180eb\u0085c"), ElementsAre("a\u180eb", "\u0085", "c"));
}

TEST(SplitPatternTest, BadPatternsAreErrors) {
  EXPECT_THAT(error_text<DataError>([] { SplitPattern("a(b"); }),
              HasSubstr("[SplitPattern] the split pattern \"a(b\" cannot be used: missing closing parenthesis"));
  EXPECT_THAT(error_text<DataError>([] { SplitPattern("[a\\S]"); }), HasSubstr("\\S in a character class"));
}

// Nested repetition needs a state for each character.
TEST(SplitPatternTest, AMatchThatNeedsTooMuchMemoryIsAnError) {
  const std::string text(size_t{8} << 20, 'a');
  EXPECT_THAT(error_text<DataError>([&] { split("(a|b)*c", text); }), HasSubstr("cannot be split at byte 0"));
}

}  // namespace
}  // namespace levin
