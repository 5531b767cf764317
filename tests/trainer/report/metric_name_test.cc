#include "trainer/report/metric_name.h"

#include <gtest/gtest.h>

namespace levin {
namespace {

void expect_name(const std::string& name, const std::string& quantity, const std::string& stage,
                 const std::string& interval = "") {
  const MetricName parsed = parse_metric_name(name);
  EXPECT_EQ(parsed.quantity, quantity) << name;
  EXPECT_EQ(parsed.stage, stage) << name;
  EXPECT_EQ(parsed.interval, interval) << name;
  EXPECT_EQ(parsed.group, MetricGroup::kMetric) << name;
}

TEST(MetricNameTest, StageStandsAtTheFrontOrAtTheEnd) {
  expect_name("train_loss", "loss", "train");
  expect_name("val_loss", "loss", "val");
  expect_name("val/acc/top1", "acc/top1", "val");
  expect_name("validation.F1", "F1", "val");
  expect_name("loss_val", "loss", "val");
  expect_name("test-acc", "acc", "test");
}

TEST(MetricNameTest, IntervalIsTakenOff) {
  expect_name("train_loss_step", "loss", "train", "step");
  expect_name("train_loss_epoch", "loss", "train", "epoch");
  expect_name("loss_step", "loss", "", "step");
}

TEST(MetricNameTest, OtherNamesStayWhole) {
  for (const char* name :
       {"loss", "train", "val", "_", "trainable", "grad_norm", "step", "value_loss", "val_", "_step"}) {
    const MetricName parsed = parse_metric_name(name);
    EXPECT_EQ(parsed.quantity, name);
    EXPECT_EQ(parsed.stage, "") << name;
  }
  EXPECT_FALSE(parse_metric_name("").quantity.empty());
}

TEST(MetricNameTest, LearningRatesShareAQuantity) {
  for (const char* name : {"lr", "lr-AdamW", "lr-AdamW/pg1", "learning_rate"}) {
    EXPECT_EQ(parse_metric_name(name).group, MetricGroup::kLearningRate) << name;
    EXPECT_EQ(parse_metric_name(name).quantity, "learning rate") << name;
  }
  EXPECT_EQ(parse_metric_name("lr-SGD-momentum").quantity, "lr-SGD-momentum");
  EXPECT_EQ(parse_metric_name("lrs").group, MetricGroup::kMetric);
}

TEST(MetricNameTest, SpeedsAreThroughput) {
  for (const char* name : {"samples_per_second", "epoch_seconds", "train/tokens_per_sec", "throughput", "mfu"}) {
    EXPECT_EQ(parse_metric_name(name).group, MetricGroup::kThroughput) << name;
    EXPECT_EQ(parse_metric_name(name).quantity, name);
  }
  EXPECT_EQ(parse_metric_name("seconds_hand_acc").group, MetricGroup::kThroughput);
  EXPECT_EQ(parse_metric_name("per_class_acc").group, MetricGroup::kMetric);
}

TEST(MetricNameTest, BetterValuesFollowTheWords) {
  for (const char* name : {"train_loss", "val_mse", "perplexity", "epoch_seconds", "test/WER", "loss_step"}) {
    EXPECT_EQ(better_values(name), Better::kLower) << name;
  }
  for (const char* name : {"val_acc", "F1", "test/mIoU", "samples_per_second", "ep_reward"}) {
    EXPECT_EQ(better_values(name), Better::kHigher) << name;
  }
  for (const char* name : {"grad_norm", "lr-AdamW", "lossless", "x"}) {
    EXPECT_EQ(better_values(name), Better::kUnknown) << name;
  }
}

}  // namespace
}  // namespace levin
