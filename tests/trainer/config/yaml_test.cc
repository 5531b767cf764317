#include "trainer/config/yaml.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/trainer/core/error_text.h"
#include "trainer/config/option_writer.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

std::string parse_error(const std::string& text, bool has_lines = true) {
  return error_text<ConfigError>([&] { parse_yaml(text, "gpt.yaml", has_lines); });
}

void expect_same(const ConfigValue& got, const ConfigValue& expected) {
  EXPECT_EQ(got.kind, expected.kind);
  EXPECT_EQ(got.scalar, expected.scalar);
  ASSERT_EQ(got.items.size(), expected.items.size());
  for (size_t i = 0; i < got.items.size(); ++i) expect_same(got.items[i], expected.items[i]);
  ASSERT_EQ(got.entries.size(), expected.entries.size());
  for (size_t i = 0; i < got.entries.size(); ++i) {
    EXPECT_EQ(got.entries[i].key, expected.entries[i].key);
    expect_same(got.entries[i].value, expected.entries[i].value);
  }
}

TEST(YamlTest, ValuesKnowTheirLines) {
  const ConfigValue root = parse_yaml("# comment\ntrainer:\n  max_epochs: 3\n\n  list: [1,\n    2]\n", "gpt.yaml");
  const ConfigValue* trainer = root.find("trainer");
  ASSERT_NE(trainer, nullptr);
  EXPECT_EQ(trainer->find("max_epochs")->location.to_string(), "gpt.yaml:3");
  EXPECT_EQ(trainer->entries[1].location.to_string(), "gpt.yaml:5");
  EXPECT_EQ(trainer->find("list")->items[1].location.to_string(), "gpt.yaml:6");
}

TEST(YamlTest, OptionsHaveNoLines) {
  EXPECT_EQ(parse_yaml("3", "option --seed", false).location.to_string(), "option --seed");
}

TEST(YamlTest, QuotesAreRemembered) {
  const ConfigValue list = parse_yaml("[3, \"3\", '3']", "gpt.yaml");
  EXPECT_FALSE(list.items[0].is_quoted);
  EXPECT_TRUE(list.items[1].is_quoted);
  EXPECT_TRUE(list.items[2].is_quoted);
}

TEST(YamlTest, EveryDoubledKeyIsListedWithBothLines) {
  EXPECT_EQ(parse_error("seed: 1\ntrainer:\n  max_epochs: 1\n  max_epochs: 2\nmodel: a\nseed: 2\n"),
            "gpt.yaml:4: the key \"max_epochs\" stands twice, first in line 3.\n"
            "gpt.yaml:6: the key \"seed\" stands twice, first in line 1.");
}

TEST(YamlTest, SameKeyInTwoMapsIsFine) {
  EXPECT_EQ(to_yaml(parse_yaml("a: {x: 1}\nb: {x: 2}\n", "gpt.yaml")), "a:\n  x: 1\nb:\n  x: 2\n");
}

TEST(YamlTest, KeyMustBePlain) {
  EXPECT_EQ(parse_error("a: 1\n[1, 2]: 3\n"), "gpt.yaml:2: a key must be a plain text.");
}

TEST(YamlTest, InvalidYamlIsNamedWithItsLine) {
  EXPECT_EQ(parse_error("seed: 1\ntrainer: [1, 2\nmodel: a\n").find("gpt.yaml:"), 0u);
  EXPECT_NE(parse_error("seed: 1\ntrainer: [1, 2\nmodel: a\n").find(": this is not valid YAML: "), std::string::npos);
  EXPECT_EQ(parse_error("seed: 1\n  max: 2\n"), "gpt.yaml:2: this is not valid YAML: illegal map value.");
  EXPECT_EQ(parse_error("[1", false).find("gpt.yaml: this is not valid YAML: "), 0u);
}

TEST(YamlTest, SecondDocumentIsAnError) {
  EXPECT_EQ(parse_error("a: 1\n---\nb: 2\n"),
            "gpt.yaml: the file has 2 YAML documents, separated by \"---\"; it must be one.");
  EXPECT_EQ(to_yaml(parse_yaml("---\na: 1\n", "gpt.yaml")), "a: 1\n");
}

TEST(YamlTest, AnchorsMayBeUsedAgainButNotInThemselves) {
  EXPECT_EQ(to_yaml(parse_yaml("a: &x {b: 1}\nc: *x\n", "gpt.yaml")), "a:\n  b: 1\nc:\n  b: 1\n");
  EXPECT_EQ(parse_error("a: &x [*x]\n"), "gpt.yaml:1: lists and maps are nested deeper than 100 levels.");
  EXPECT_EQ(parse_error("seed: 1\na: &x {b: *x}\n"), "gpt.yaml:2: lists and maps are nested deeper than 100 levels.");
}

TEST(YamlTest, EmptyTextIsNull) {
  EXPECT_TRUE(parse_yaml("", "gpt.yaml").is_null());
  EXPECT_TRUE(parse_yaml("# nothing\n", "gpt.yaml").is_null());
}

TEST(YamlTest, MissingFileIsNamed) {
  EXPECT_EQ(error_text<ConfigError>([] { load_yaml("/nowhere/gpt.yaml"); }),
            "cannot open the configuration /nowhere/gpt.yaml: No such file or directory.");
}

TEST(YamlTest, FolderIsNoFile) {
  EXPECT_EQ(error_text<ConfigError>([] { load_yaml("/tmp"); }), "/tmp is a folder, not a YAML file.");
}

TEST(YamlTest, FileIsReadWithItsPathInLocations) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "read.yaml";
  std::ofstream(path) << "a: 1\nb: 2\n";
  EXPECT_EQ(load_yaml(path).find("b")->location.to_string(), path.string() + ":2");
}

TEST(YamlTest, WrittenTextReadsBackTheSame) {
  for (const char* text :
       {"a: 1", "a: ~\nb: {c: {d: e}}", "a: []", "a: [1, [2, 3], {b: c}]", "a: [{class: A, x: 1}, {class: B}]",
        "a: \"3\"", "a: ''", "a: 'it''s'", "a: \"tab\\t, line\\n, \\\"quote\\\", back\\\\slash\"", "a: 'x: y # z'",
        "a: '~'", "a: 'null'", "a: ' spaces '", "a: '- b'", "a: 'ümlaut'", "'key: 1': 2", "a: {}", "a: 'Null'"}) {
    const ConfigValue value = parse_yaml(text, "a");
    const std::string written = to_yaml(value);
    SCOPED_TRACE(written);
    const ConfigValue again = parse_yaml(written, "b");
    expect_same(again, value);
    EXPECT_EQ(to_yaml(again), written);
  }
}

TEST(YamlTest, TextsThatLookLikeOtherTypesStayTexts) {
  ConfigValue list = ConfigValue::of_list();
  const std::vector<std::string> texts = {"3",     "-1",   "1e-3", ".5",  "",     "null", "~",    "true",
                                          "False", "inf",  ".inf", "nan", "Null", "NULL", "a b",  "a\"b",
                                          "a'b",   "a: b", "#a",   "@a",  "[a",   "%",    "a\nb", "*x"};
  for (const std::string& text : texts) list.items.push_back(text_value(text));
  const ConfigValue again = parse_yaml(to_yaml(list), "a");
  ASSERT_EQ(again.items.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(again.items[i].is_scalar()) << texts[i];
    EXPECT_EQ(again.items[i].scalar, texts[i]);
  }
  for (size_t i = 0; i < 12; ++i) EXPECT_TRUE(again.items[i].is_quoted) << texts[i];
}

TEST(YamlTest, PlainScalarsAreWrittenPlain) {
  EXPECT_EQ(to_yaml(parse_yaml("lr: 1e-3\nlist: [0.9, 0.999]\nname: gpt\n", "a")),
            "lr: 1e-3\nlist: [0.9, 0.999]\nname: gpt\n");
}

}  // namespace
}  // namespace levin
