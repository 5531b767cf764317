#include "trainer/config/option_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/core/error_text.h"
#include "trainer/config/option_writer.h"
#include "trainer/config/yaml.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

struct Options {
  bool flag = false;
  int64_t count = 1;
  uint64_t unsigned_count = 1;
  double lr = 0.5;
  std::string name = "default";
  std::string mode = "min";
  BatchLimit limit = {};
  std::optional<int64_t> maybe_count = 7;
  std::optional<double> maybe_number = std::nullopt;
  std::optional<std::string> maybe_name = "default";
  std::vector<int64_t> sizes = {1};
  std::vector<double> betas = {0.5};
  std::vector<std::string> names = {};
  std::map<int64_t, int64_t> factors = {{0, 1}};
  std::optional<bool> maybe_flag = std::nullopt;
  int64_t max_epochs = 1;

  void visit(OptionVisitor& visitor) {
    visitor.field("flag", flag, "");
    visitor.field("count", count, "", at_least(0));
    visitor.field("unsigned_count", unsigned_count, "");
    visitor.field("lr", lr, "", above(0));
    visitor.field("name", name, "");
    visitor.field("mode", mode, "", one_of({"min", "max"}));
    visitor.field("limit", limit, "");
    visitor.field("maybe_count", maybe_count, "", at_least(1));
    visitor.field("maybe_number", maybe_number, "");
    visitor.field("maybe_name", maybe_name, "");
    visitor.field("sizes", sizes, "", at_least(1));
    visitor.field("betas", betas, "", between(0, 1));
    visitor.field("names", names, "");
    visitor.field("factors", factors, "", at_least(1));
    visitor.field("maybe_flag", maybe_flag, "");
    visitor.field("max_epochs", max_epochs, "");
  }
};

struct Result {
  Options options;
  std::string problems;
};

Result read(const std::string& yaml) {
  const ConfigValue section = parse_yaml(yaml, "a.yaml");
  ConfigProblems problems;
  Result result;
  OptionReader reader(section, "model", problems, {"class"});
  result.options.visit(reader);
  reader.finish();
  if (!problems.empty()) result.problems = error_text<ConfigError>([&] { problems.throw_if_any(); });
  return result;
}

std::string problems_of(const std::string& yaml) { return read(yaml).problems; }

TEST(OptionReaderTest, EveryTypeIsRead) {
  const auto [options, problems] = read(
      "{class: Gpt, flag: true, count: 12, unsigned_count: 18446744073709551615, lr: 0.25, name: gpt, mode: max, "
      "limit: 10, maybe_count: 3, maybe_number: -1.5, maybe_name: x, sizes: [1, 2], betas: [0.9, 1], names: [a, '2']}");
  EXPECT_EQ(problems, "");
  EXPECT_TRUE(options.flag);
  EXPECT_EQ(options.count, 12);
  EXPECT_EQ(options.unsigned_count, 18446744073709551615u);
  EXPECT_EQ(options.lr, 0.25);
  EXPECT_EQ(options.name, "gpt");
  EXPECT_EQ(options.mode, "max");
  EXPECT_EQ(options.limit, BatchLimit(10));
  EXPECT_EQ(options.maybe_count, 3);
  EXPECT_EQ(options.maybe_number, -1.5);
  EXPECT_EQ(options.maybe_name, "x");
  EXPECT_EQ(options.sizes, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(options.betas, (std::vector<double>{0.9, 1.0}));
  EXPECT_EQ(options.names, (std::vector<std::string>{"a", "2"}));
}

TEST(OptionReaderTest, MissingKeysKeepTheirDefaults) {
  const auto [options, problems] = read("");
  EXPECT_EQ(problems, "");
  EXPECT_EQ(options.name, "default");
  EXPECT_EQ(options.maybe_count, 7);
}

TEST(OptionReaderTest, NumbersMayBeWrittenInAnyWay) {
  EXPECT_EQ(read("lr: 1e-3").options.lr, 1e-3);
  EXPECT_EQ(read("lr: 1E-3").options.lr, 1e-3);
  EXPECT_EQ(read("lr: +.5").options.lr, 0.5);
  EXPECT_EQ(read("lr: 3").options.lr, 3.0);
  EXPECT_TRUE(std::isinf(read("lr: .inf").options.lr));
  EXPECT_EQ(read("count: +3").options.count, 3);
}

TEST(OptionReaderTest, CountAndFractionAreTwoThings) {
  EXPECT_EQ(read("limit: 1").options.limit, BatchLimit(1));
  EXPECT_EQ(read("limit: 1.0").options.limit, BatchLimit(1.0));
  EXPECT_EQ(read("limit: 1e-1").options.limit, BatchLimit(0.1));
}

TEST(OptionReaderTest, NullEmptiesAnOptional) {
  EXPECT_EQ(read("maybe_count: null").options.maybe_count, std::nullopt);
  EXPECT_EQ(read("maybe_count: ~").options.maybe_count, std::nullopt);
  EXPECT_EQ(read("maybe_count:").options.maybe_count, std::nullopt);
  EXPECT_EQ(read("maybe_name: null").options.maybe_name, std::nullopt);
  EXPECT_EQ(read("maybe_name: 'null'").options.maybe_name, "null");
}

TEST(OptionReaderTest, NullIsNoValueOfAnythingElse) {
  EXPECT_EQ(problems_of("count: null"), "a.yaml:1: model.count must be an integer, got nothing");
  EXPECT_EQ(problems_of("name:"), "a.yaml:1: model.name must be a text, got nothing");
}

TEST(OptionReaderTest, WrongTypesAreNamed) {
  EXPECT_EQ(problems_of("flag: yes"), "a.yaml:1: model.flag must be true or false, got \"yes\"");
  EXPECT_EQ(problems_of("count: 1.5"), "a.yaml:1: model.count must be an integer, got \"1.5\"");
  EXPECT_EQ(problems_of("count: 99999999999999999999"),
            "a.yaml:1: model.count must be an integer, got \"99999999999999999999\"");
  EXPECT_EQ(problems_of("unsigned_count: -1"), "a.yaml:1: model.unsigned_count must be an integer >= 0, got \"-1\"");
  EXPECT_EQ(problems_of("lr: fast"), "a.yaml:1: model.lr must be a number, got \"fast\"");
  EXPECT_EQ(problems_of("lr: 1e-3x"), "a.yaml:1: model.lr must be a number, got \"1e-3x\"");
  EXPECT_EQ(problems_of("name: [a]"), "a.yaml:1: model.name must be a text, got a list");
  EXPECT_EQ(problems_of("limit: all"),
            "a.yaml:1: model.limit must be a number of batches (10) or a fraction (0.1), got \"all\"");
  EXPECT_EQ(problems_of("maybe_count: x"), "a.yaml:1: model.maybe_count must be an integer or null, got \"x\"");
  EXPECT_EQ(problems_of("sizes: 3"), "a.yaml:1: model.sizes must be a list, each item an integer, got \"3\"");
  EXPECT_EQ(problems_of("lr: {a: 1}"), "a.yaml:1: model.lr must be a number, got a map");
}

TEST(OptionReaderTest, WrongItemOfAListIsNamed) {
  EXPECT_EQ(problems_of("sizes: [1, x]"), "a.yaml:1: model.sizes must be a list, each item an integer, got \"x\"");
}

TEST(OptionReaderTest, MapOfIntegersIsRead) {
  using Map = std::map<int64_t, int64_t>;
  EXPECT_EQ(read("factors: {0: 8, 4: 2}").options.factors, (Map{{0, 8}, {4, 2}}));
  EXPECT_EQ(read("sizes: [2]").options.factors, (Map{{0, 1}}));
  EXPECT_EQ(problems_of("factors: 8"), "a.yaml:1: model.factors must be a map of integers, as {0: 8, 4: 2}, got \"8\"");
  EXPECT_EQ(problems_of("factors: {0: x}"),
            "a.yaml:1: model.factors must be a map of integers, as {0: 8, 4: 2}, got \"x\"");
  EXPECT_EQ(problems_of("factors: {a: 1}"),
            "a.yaml:1: model.factors must be a map of integers, as {0: 8, 4: 2}, got a map");
  EXPECT_EQ(problems_of("factors: {0: 8, 4: 0}"), "a.yaml:1: model.factors must be >= 1, got {0: 8, 4: 0}");
}

TEST(OptionReaderTest, OptionalFlagIsRead) {
  EXPECT_EQ(read("maybe_flag: false").options.maybe_flag, std::optional(false));
  EXPECT_EQ(read("maybe_flag: null").options.maybe_flag, std::nullopt);
  EXPECT_EQ(problems_of("maybe_flag: 1"), "a.yaml:1: model.maybe_flag must be true or false or null, got \"1\"");
}

TEST(OptionReaderTest, QuotedNumberIsAText) {
  EXPECT_EQ(problems_of("count: \"3\""), "a.yaml:1: model.count must be an integer, got the text \"3\"");
  EXPECT_EQ(problems_of("lr: '1e-3'"), "a.yaml:1: model.lr must be a number, got the text \"1e-3\"");
  EXPECT_EQ(problems_of("flag: 'true'"), "a.yaml:1: model.flag must be true or false, got the text \"true\"");
  EXPECT_EQ(read("name: '3'").options.name, "3");
}

TEST(OptionReaderTest, ForbiddenValuesAreNamedWithTheRule) {
  EXPECT_EQ(problems_of("count: -1"), "a.yaml:1: model.count must be >= 0, got -1");
  EXPECT_EQ(problems_of("lr: 0"), "a.yaml:1: model.lr must be > 0, got 0");
  EXPECT_EQ(problems_of("lr: nan"), "a.yaml:1: model.lr must be > 0, got nan");
  EXPECT_EQ(problems_of("mode: mean"), "a.yaml:1: model.mode must be one of: min, max, got mean");
  EXPECT_EQ(problems_of("maybe_count: 0"), "a.yaml:1: model.maybe_count must be >= 1, got 0");
  EXPECT_EQ(problems_of("betas: [0.5, 2]"), "a.yaml:1: model.betas must be between 0 and 1, got [0.5, 2]");
  EXPECT_EQ(problems_of("limit: 1.5"),
            "a.yaml:1: model.limit must be a number of batches >= 0, or a fraction between 0.0 and 1.0, got 1.5");
}

TEST(OptionReaderTest, UnknownKeyHasASuggestion) {
  EXPECT_EQ(problems_of("\n\nmax_epoch: 3"), "a.yaml:3: unknown key \"model.max_epoch\"; did you mean \"max_epochs\"?");
}

TEST(OptionReaderTest, UnknownKeyWithoutANearNameListsTheKnownOnes) {
  EXPECT_EQ(problems_of("temperature_of_sampling: 3"),
            "a.yaml:1: unknown key \"model.temperature_of_sampling\"; known: flag, count, unsigned_count, lr, name, "
            "mode, limit, maybe_count, maybe_number, maybe_name, sizes, betas, names, factors, "
            "maybe_flag, max_epochs, class");
}

TEST(OptionReaderTest, EverythingThatIsWrongIsListed) {
  EXPECT_EQ(problems_of("count: x\nlr: -1\nmax_epoch: 3\n"),
            "a.yaml:1: model.count must be an integer, got \"x\"\n"
            "a.yaml:2: model.lr must be > 0, got -1\n"
            "a.yaml:3: unknown key \"model.max_epoch\"; did you mean \"max_epochs\"?");
}

TEST(OptionReaderTest, SectionMustBeAMap) {
  EXPECT_EQ(problems_of("[a]"), "a.yaml:1: model must be a map of options, got a list");
}

TEST(OptionReaderTest, WrittenOptionsReadBackTheSame) {
  Options options;
  options.lr = 0.1 + 0.2;
  options.name = "3";
  options.limit = 1.0;
  options.maybe_count = std::nullopt;
  options.maybe_name = "null";
  options.names = {"a b", "", "1e-3"};
  options.unsigned_count = 18446744073709551615u;
  options.factors = {{0, 8}, {4, 2}};
  options.maybe_flag = true;
  ConfigValue map = ConfigValue::of_map();
  OptionWriter writer(map);
  options.visit(writer);
  const auto [again, problems] = read(to_yaml(map));
  EXPECT_EQ(problems, "");
  EXPECT_EQ(again.lr, options.lr);
  EXPECT_EQ(again.name, "3");
  EXPECT_EQ(again.limit, BatchLimit(1.0));
  EXPECT_EQ(again.maybe_count, std::nullopt);
  EXPECT_EQ(again.maybe_name, "null");
  EXPECT_EQ(again.names, options.names);
  EXPECT_EQ(again.factors, options.factors);
  EXPECT_EQ(again.maybe_flag, options.maybe_flag);
  EXPECT_EQ(again.unsigned_count, options.unsigned_count);
}

}  // namespace
}  // namespace levin
