#include "trainer/config/config_value.h"

#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/config/yaml.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

ConfigValue parse(const std::string& text) { return parse_yaml(text, "a.yaml"); }

std::string merged(const std::string& base, const std::string& over) {
  ConfigValue root = parse(base);
  merge_config(root, parse_yaml(over, "b.yaml"));
  return to_yaml(root);
}

std::string set(const std::string& base, const std::string& path, const std::string& value) {
  ConfigValue root = parse(base);
  set_by_path(root, path, parse_yaml(value, "option --" + path, false));
  return to_yaml(root);
}

TEST(ConfigValueTest, MapsAreMergedKeyByKey) {
  EXPECT_EQ(merged("a: 1\nb: {x: 1, y: 2}", "b: {y: 3, z: 4}\nc: 5"), "a: 1\nb:\n  x: 1\n  y: 3\n  z: 4\nc: 5\n");
}

TEST(ConfigValueTest, ListsAndScalarsAreReplaced) {
  EXPECT_EQ(merged("a: [1, 2, 3]\nb: 1", "a: [4]\nb: 2"), "a: [4]\nb: 2\n");
  EXPECT_EQ(merged("a: {x: 1}", "a: 2"), "a: 2\n");
  EXPECT_EQ(merged("a: 2", "a: {x: 1}"), "a:\n  x: 1\n");
}

TEST(ConfigValueTest, NullReplacesASection) { EXPECT_EQ(merged("a: {x: 1}", "a:"), "a: ~\n"); }

TEST(ConfigValueTest, AnotherClassReplacesTheSection) {
  EXPECT_EQ(merged("o: {class: AdamW, lr: 1, eps: 2}", "o: {class: SGD, lr: 3}"), "o:\n  class: SGD\n  lr: 3\n");
}

TEST(ConfigValueTest, SameClassOrNoneIsMerged) {
  EXPECT_EQ(merged("o: {class: SGD, lr: 1}", "o: {class: SGD, eps: 3}"), "o:\n  class: SGD\n  lr: 1\n  eps: 3\n");
  EXPECT_EQ(merged("o: {class: SGD, lr: 1}", "o: {lr: 3}"), "o:\n  class: SGD\n  lr: 3\n");
}

TEST(ConfigValueTest, MergedValueStandsWhereItWasWritten) {
  ConfigValue root = parse("a: 1\nb: 2");
  merge_config(root, parse_yaml("\n\nb: 3", "b.yaml"));
  EXPECT_EQ(root.find("a")->location.to_string(), "a.yaml:1");
  EXPECT_EQ(root.find("b")->location.to_string(), "b.yaml:3");
}

TEST(ConfigValueTest, PathMakesMapsOnTheWay) {
  EXPECT_EQ(set("a: 1", "trainer.deep.max_epochs", "3"), "a: 1\ntrainer:\n  deep:\n    max_epochs: 3\n");
  EXPECT_EQ(set("trainer:", "trainer.max_epochs", "3"), "trainer:\n  max_epochs: 3\n");
}

TEST(ConfigValueTest, PathReplacesAValue) {
  EXPECT_EQ(set("trainer: {max_epochs: 1, max_steps: 2}", "trainer.max_epochs", "3"),
            "trainer:\n  max_epochs: 3\n  max_steps: 2\n");
  EXPECT_EQ(set("seed: 1", "seed", "2"), "seed: 2\n");
}

TEST(ConfigValueTest, PathWithAMapIsMerged) {
  EXPECT_EQ(set("o: {class: SGD, lr: 1}", "o", "{lr: 2}"), "o:\n  class: SGD\n  lr: 2\n");
}

TEST(ConfigValueTest, PathThroughAScalarOrListIsAnError) {
  EXPECT_EQ(error_text<ConfigError>([] { set("trainer: fast", "trainer.max_epochs", "3"); }),
            "option --trainer.max_epochs: \"trainer\" is \"fast\", so \"max_epochs\" cannot be set below it.");
  EXPECT_EQ(error_text<ConfigError>([] { set("callbacks: [a]", "callbacks.0.monitor", "x"); }),
            "option --callbacks.0.monitor: \"callbacks\" is a list, so \"0.monitor\" cannot be set below it.");
}

TEST(ConfigValueTest, ValuesAreDescribed) {
  EXPECT_EQ(parse("").describe(), "nothing");
  EXPECT_EQ(parse("abc").describe(), "\"abc\"");
  EXPECT_EQ(parse("[1]").describe(), "a list");
  EXPECT_EQ(parse("{a: 1}").describe(), "a map");
}

}  // namespace
}  // namespace levin
