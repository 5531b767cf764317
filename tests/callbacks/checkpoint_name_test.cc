#include "callbacks/checkpoint_name.h"

#include <gtest/gtest.h>

namespace levin {
namespace {

Metrics example() {
  Metrics metrics;
  metrics.set("val_acc", 0.90123);
  metrics.set("val/loss", 0.5);
  return metrics;
}

TEST(CheckpointNameTest, FieldsBecomeNameAndValue) {
  EXPECT_EQ(format_checkpoint_name("{epoch}-{step}", 1, 938, example()), "epoch=1-step=938");
  EXPECT_EQ(format_checkpoint_name("{epoch}-{val_acc:.4f}", 1, 938, example()), "epoch=1-val_acc=0.9012");
  EXPECT_EQ(format_checkpoint_name("gpt_{epoch:03d}_{val_acc}x", 1, 938, example()), "gpt_epoch=001_val_acc=0.90123x");
  EXPECT_EQ(format_checkpoint_name("plain", 1, 938, example()), "plain");
}

TEST(CheckpointNameTest, ValuesMayStandAlone) {
  EXPECT_EQ(format_checkpoint_name("e{epoch:02d}-{val/loss:.2f}", 1, 938, example(), false), "e01-0.50");
  EXPECT_EQ(find_pattern_problem("{epoch}", false), "");
}

TEST(CheckpointNameTest, SlashInAMetricMakesNoFolder) {
  EXPECT_EQ(format_checkpoint_name("{val/loss:.2f}", 0, 1, example()), "val_loss=0.50");
}

TEST(CheckpointNameTest, MetricWithoutAValueIsNan) {
  EXPECT_EQ(format_checkpoint_name("{val_f1:.2f}", 0, 1, example()), "val_f1=nan");
}

TEST(CheckpointNameTest, GoodPatternsHaveNoProblem) {
  for (const char* pattern : {"{epoch}-{step}", "{epoch:02d}-{val/loss:.4f}", "a", "last-{step}"}) {
    EXPECT_EQ(find_pattern_problem(pattern), "") << pattern;
  }
}

TEST(CheckpointNameTest, ProblemsAreNamed) {
  EXPECT_EQ(find_pattern_problem("{epoch"), "has a { without a }");
  EXPECT_EQ(find_pattern_problem("epoch}"), "has a } without a {");
  EXPECT_EQ(find_pattern_problem("{a{b}}"), "has a { within a field");
  EXPECT_EQ(find_pattern_problem("{}"), "has a field without a name");
  EXPECT_EQ(find_pattern_problem("{:d}"), "has a field without a name");
  EXPECT_EQ(find_pattern_problem("a/{step}"), "must be a folder name without /");
  EXPECT_EQ(find_pattern_problem(""), "must not be empty or begin with a dot");
  EXPECT_EQ(find_pattern_problem(".."), "must not be empty or begin with a dot");
  EXPECT_EQ(find_pattern_problem("last"), "must not be \"last\" or \"best\", which are links");
  // A real value has no form "d".
  EXPECT_NE(find_pattern_problem("{val_acc:d}").find("has a form that fmt does not know"), std::string::npos);
}

}  // namespace
}  // namespace levin
