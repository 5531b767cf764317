#include "callbacks/bar_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace levin {
namespace {

BarLine example() {
  BarLine line{.label = "Epoch 2/3", .num_done = 312, .total = 468, .elapsed_s = 12.9, .rate = 26.0};
  line.metrics.set("loss", 0.3124);
  line.metrics.set("val_loss", 0.5);
  return line;
}

int64_t count_columns(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; });
}

// 156 batches are left: 156 / 26 = 6 s. The text without the bar has 9 + 2 + 32 + 11 + 15 = 69 columns, so 99 leave 30
// for the bar, of which 312/468 = 2/3 are 20.
TEST(BarLineTest, BarTakesTheRoomThatTheTextLeaves) {
  EXPECT_EQ(format_bar_line(example(), {.num_columns = 100}),
            "Epoch 2/3 ====================---------- 312/468 [00:12<00:06, 26.0 it/s] loss 0.312 val_loss 0.500");
}

TEST(BarLineTest, BarIsAtMost40ColumnsWide) {
  EXPECT_EQ(format_bar_line(example(), {.num_columns = 200}),
            "Epoch 2/3 ==========================>------------- 312/468 [00:12<00:06, 26.0 it/s] loss 0.312 val_loss "
            "0.500");
}

TEST(BarLineTest, TheRateHasTheUnit) {
  BarLine line = example();
  line.unit = "MB";
  EXPECT_EQ(format_plain_line(line), "Epoch 2/3 312/468 [00:12<00:06, 26.0 MB/s] loss 0.312 val_loss 0.500");
  line.rate = 0.5;
  EXPECT_EQ(format_plain_line(line), "Epoch 2/3 312/468 [00:12<05:12, 2.00 s/MB] loss 0.312 val_loss 0.500");
}

// 77 columns leave 8 for the bar, the smallest that is drawn: 2/3 of 8 = 5.33 columns.
TEST(BarLineTest, SmallestBarHas8Columns) {
  EXPECT_EQ(format_bar_line(example(), {.num_columns = 78}),
            "Epoch 2/3 =====--- 312/468 [00:12<00:06, 26.0 it/s] loss 0.312 val_loss 0.500");
}

// One column less: val_loss goes, and its 15 columns go to the bar, which has 7 + 15 = 22 then; 2/3 of it = 14.67.
TEST(BarLineTest, LastMetricIsLeftOutBeforeTheBar) {
  EXPECT_EQ(format_bar_line(example(), {.num_columns = 77}),
            "Epoch 2/3 ==============>------- 312/468 [00:12<00:06, 26.0 it/s] loss 0.312");
}

TEST(BarLineTest, BarIsLeftOutBeforeTheTextIsCut) {
  EXPECT_EQ(format_bar_line(example(), {.num_columns = 50}), "Epoch 2/3 312/468 [00:12<00:06, 26.0 it/s]");
  EXPECT_EQ(format_bar_line(example(), {.num_columns = 20}), "Epoch 2/3 312/468 [");
}

TEST(BarLineTest, LineIsNarrowerThanTheTerminal) {
  for (int64_t columns = 1; columns <= 150; ++columns) {
    const std::string line = format_bar_line(example(), {.num_columns = columns, .is_utf8 = true});
    EXPECT_LT(count_columns(line), columns) << line;
  }
}

// 79 columns leave 10 for the bar: 2/3 of 10 = 6.67 columns, 6 full ones and a half.
TEST(BarLineTest, BarIsOfLinesInUtf8) {
  EXPECT_EQ(format_bar_line(example(), {.num_columns = 80, .is_utf8 = true}),
            "Epoch 2/3 \u2501\u2501\u2501\u2501\u2501\u2501\u2578\u2500\u2500\u2500 312/468 [00:12<00:06, 26.0 it/s] "
            "loss 0.312 "
            "val_loss 0.500");
}

TEST(BarLineTest, ColorsAreAroundTheBarOnly) {
  EXPECT_EQ(format_bar_line(example(), {.num_columns = 80, .has_colors = true}),
            "Epoch 2/3 \x1b[36m======>\x1b[90m---\x1b[0m 312/468 [00:12<00:06, 26.0 it/s] loss 0.312 val_loss 0.500");
}

TEST(BarLineTest, UnknownTotalHasNeitherBarNorRemainingTime) {
  BarLine line = example();
  line.total.reset();
  EXPECT_EQ(format_bar_line(line, {.num_columns = 80}), "Epoch 2/3 312 [00:12, 26.0 it/s] loss 0.312 val_loss 0.500");
}

TEST(BarLineTest, FinalLineHasNoRemainingTime) {
  BarLine line = example();
  line.is_final = true;
  EXPECT_EQ(format_plain_line(line), "Epoch 2/3 312/468 [00:12, 26.0 it/s] loss 0.312 val_loss 0.500");
}

TEST(BarLineTest, UnknownRateIsAQuestionMark) {
  BarLine line = example();
  line.rate = 0.0;
  line.metrics.clear();
  EXPECT_EQ(format_plain_line(line), "Epoch 2/3 312/468 [00:12<?, ? it/s]");
}

TEST(BarLineTest, RateBelowOneIsSecondsABatch) {
  BarLine line{.label = "Test", .num_done = 1, .total = 2, .elapsed_s = 4.0, .rate = 0.25};
  EXPECT_EQ(format_plain_line(line), "Test 1/2 [00:04<00:04, 4.00 s/it]");
}

TEST(BarLineTest, ValuesHaveThreeDecimalsWhereTheySaySomething) {
  BarLine line{.label = "Test", .num_done = 1, .elapsed_s = 0.0};
  line.metrics.set("a", 2.0);
  line.metrics.set("b", 0.0);
  line.metrics.set("c", 0.00012345);
  line.metrics.set("d", -123456.0);
  line.metrics.set("e", -std::numeric_limits<double>::quiet_NaN());
  line.metrics.set("f", std::numeric_limits<double>::infinity());
  EXPECT_EQ(format_plain_line(line), "Test 1 [00:00, ? it/s] a 2.000 b 0.000 c 0.000123 d -1.23e+05 e nan f inf");
}

TEST(BarLineTest, DurationsHaveHoursFromOneHourOn) {
  EXPECT_EQ(format_duration(0.0), "00:00");
  EXPECT_EQ(format_duration(59.99), "00:59");
  EXPECT_EQ(format_duration(3599.0), "59:59");
  EXPECT_EQ(format_duration(3723.0), "1:02:03");
  EXPECT_EQ(format_duration(360000.0), "100:00:00");
}

}  // namespace
}  // namespace levin
