#include "trainer/core/option_visitor.h"

#include <gtest/gtest.h>

#include <limits>

namespace levin {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::string text_of(T value) {
  return option_to_string(OptionTarget(&value));
}

template <class T>
std::string violation(T value, const OptionRule& rule = {}) {
  return find_violation(OptionTarget(&value), rule);
}

TEST(OptionRuleTest, DescribesItself) {
  EXPECT_EQ(OptionRule().describe(), "");
  EXPECT_EQ(at_least(1).describe(), "must be >= 1");
  EXPECT_EQ(at_least(0.5).describe(), "must be >= 0.5");
  EXPECT_EQ(above(0).describe(), "must be > 0");
  EXPECT_EQ(between(0, 1).describe(), "must be between 0 and 1");
  EXPECT_EQ(OptionRule{.maximum = 4}.describe(), "must be <= 4");
  EXPECT_EQ(one_of({"min", "max"}).describe(), "must be one of: min, max");
}

TEST(OptionToStringTest, WritesEachTypeAsYamlDoes) {
  EXPECT_EQ(text_of(true), "true");
  EXPECT_EQ(text_of(false), "false");
  EXPECT_EQ(text_of(int64_t{-3}), "-3");
  EXPECT_EQ(text_of(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(text_of(0.001), "0.001");
  EXPECT_EQ(text_of(0.1), "0.1");
  EXPECT_EQ(text_of(std::string("auto")), "auto");
  EXPECT_EQ(text_of(BatchLimit(1)), "1");
  EXPECT_EQ(text_of(BatchLimit(1.0)), "1.0");
  EXPECT_EQ(text_of(std::optional<int64_t>()), "null");
  EXPECT_EQ(text_of(std::optional<int64_t>(5)), "5");
  EXPECT_EQ(text_of(std::optional<uint64_t>()), "null");
  EXPECT_EQ(text_of(std::optional<uint64_t>(7)), "7");
  EXPECT_EQ(text_of(std::optional<double>()), "null");
  EXPECT_EQ(text_of(std::optional<double>(0.5)), "0.5");
  EXPECT_EQ(text_of(std::optional<std::string>()), "null");
  EXPECT_EQ(text_of(std::optional<std::string>("val_loss")), "val_loss");
  EXPECT_EQ(text_of(std::vector<int64_t>{}), "[]");
  EXPECT_EQ(text_of(std::vector<int64_t>{1, 2}), "[1, 2]");
  EXPECT_EQ(text_of(std::vector<double>{0.9, 0.999}), "[0.9, 0.999]");
  EXPECT_EQ(text_of(std::vector<std::string>{"a", "b"}), "[a, b]");
  EXPECT_EQ(text_of(std::optional<bool>()), "null");
  EXPECT_EQ(text_of(std::optional<bool>(false)), "false");
  EXPECT_EQ(text_of(std::map<int64_t, int64_t>{}), "{}");
  EXPECT_EQ(text_of(std::map<int64_t, int64_t>{{0, 8}, {4, 2}}), "{0: 8, 4: 2}");
}

TEST(FindViolationTest, WithoutARuleEverythingIsAllowed) {
  EXPECT_EQ(violation(int64_t{-1}), "");
  EXPECT_EQ(violation(kNaN), "");
  EXPECT_EQ(violation(std::string("anything")), "");
  EXPECT_EQ(violation(true), "");
}

TEST(FindViolationTest, AtLeastAllowsItsMinimum) {
  EXPECT_EQ(violation(int64_t{1}, at_least(1)), "");
  EXPECT_EQ(violation(int64_t{0}, at_least(1)), "must be >= 1, got 0");
  EXPECT_EQ(violation(uint64_t{0}, at_least(1)), "must be >= 1, got 0");
  EXPECT_EQ(violation(-0.5, at_least(0)), "must be >= 0, got -0.5");
}

TEST(FindViolationTest, AboveExcludesItsMinimum) {
  EXPECT_EQ(violation(0.001, above(0)), "");
  EXPECT_EQ(violation(int64_t{0}, above(0)), "must be > 0, got 0");
}

TEST(FindViolationTest, BetweenAllowsBothEnds) {
  EXPECT_EQ(violation(0.0, between(0, 1)), "");
  EXPECT_EQ(violation(1.0, between(0, 1)), "");
  EXPECT_EQ(violation(1.5, between(0, 1)), "must be between 0 and 1, got 1.5");
  EXPECT_EQ(violation(-0.5, between(0, 1)), "must be between 0 and 1, got -0.5");
}

TEST(FindViolationTest, NaNIsInNoRange) {
  EXPECT_EQ(violation(kNaN, at_least(0)), "must be >= 0, got nan");
  EXPECT_EQ(violation(kNaN, above(0)), "must be > 0, got nan");
  EXPECT_EQ(violation(kNaN, between(0, 1)), "must be between 0 and 1, got nan");
  EXPECT_EQ(violation(kNaN, OptionRule{.maximum = 1}), "must be <= 1, got nan");
}

TEST(FindViolationTest, OneOfAllowsItsChoicesOnly) {
  EXPECT_EQ(violation(std::string("min"), one_of({"min", "max"})), "");
  EXPECT_EQ(violation(std::string("Min"), one_of({"min", "max"})), "must be one of: min, max, got Min");
}

TEST(FindViolationTest, BatchLimitHasARuleOfItsOwn) {
  EXPECT_EQ(violation(BatchLimit(10)), "");
  EXPECT_EQ(violation(BatchLimit(0.1)), "");
  EXPECT_EQ(violation(BatchLimit(-1)), "must be a number of batches >= 0, or a fraction between 0.0 and 1.0, got -1");
  EXPECT_EQ(violation(BatchLimit(2.0)), "must be a number of batches >= 0, or a fraction between 0.0 and 1.0, got 2.0");
}

TEST(FindViolationTest, AnUnsetOptionalIsAllowed) {
  EXPECT_EQ(violation(std::optional<int64_t>(), at_least(1)), "");
  EXPECT_EQ(violation(std::optional<int64_t>(0), at_least(1)), "must be >= 1, got 0");
  EXPECT_EQ(violation(std::optional<std::string>(), one_of({"a"})), "");
  EXPECT_EQ(violation(std::optional<std::string>("b"), one_of({"a"})), "must be one of: a, got b");
}

TEST(FindViolationTest, EachElementOfAVectorMustBeAllowed) {
  EXPECT_EQ(violation(std::vector<int64_t>{}, at_least(1)), "");
  EXPECT_EQ(violation(std::vector<int64_t>{1, 2}, at_least(1)), "");
  EXPECT_EQ(violation(std::vector<int64_t>{1, 0}, at_least(1)), "must be >= 1, got [1, 0]");
  EXPECT_EQ(violation(std::vector<std::string>{"a", "c"}, one_of({"a", "b"})), "must be one of: a, b, got [a, c]");
}

struct Options {
  int64_t hidden_size = 128;
  double dropout = 0.25;
  std::string mode = "min";
  void visit(OptionVisitor& visitor) {
    visitor.field("hidden_size", hidden_size, "units", at_least(1));
    visitor.field("dropout", dropout, "probability", between(0, 1));
    visitor.field("mode", mode, "direction", one_of({"min", "max"}));
  }
};

TEST(OptionCheckerTest, DefaultsHaveNoProblem) {
  Options options;
  OptionChecker checker;
  options.visit(checker);
  EXPECT_TRUE(checker.problems().empty());
}

TEST(OptionCheckerTest, ListsEveryFieldThatIsNotAllowed) {
  Options options{.hidden_size = 0, .dropout = 2.5, .mode = "up"};
  OptionChecker checker;
  options.visit(checker);
  EXPECT_EQ(checker.problems(),
            (std::vector<std::string>{"hidden_size must be >= 1, got 0", "dropout must be between 0 and 1, got 2.5",
                                      "mode must be one of: min, max, got up"}));
}

}  // namespace
}  // namespace levin
