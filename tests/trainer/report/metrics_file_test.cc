#include "trainer/report/metrics_file.h"

#include <gmock/gmock.h>

#include <cmath>

namespace levin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MetricsFileTest, ColumnsBecomeSeriesWithoutTheirEmptyCells) {
  const MetricsFile file = parse_metrics(
      "step,epoch,train_loss,val_loss\n"
      "49,0,0.5,\n"
      "99,0,0.25,0.75\n"
      "149,1,1e-3,\n");
  ASSERT_EQ(file.series.size(), 2u);
  EXPECT_EQ(file.series[0].name, "train_loss");
  EXPECT_THAT(file.series[0].steps, ElementsAre(49, 99, 149));
  EXPECT_THAT(file.series[0].epochs, ElementsAre(0, 0, 1));
  EXPECT_THAT(file.series[0].values, ElementsAre(0.5, 0.25, 0.001));
  EXPECT_EQ(file.series[1].name, "val_loss");
  EXPECT_THAT(file.series[1].steps, ElementsAre(99));
  EXPECT_THAT(file.notes, IsEmpty());
}

TEST(MetricsFileTest, StepAndEpochRowsOfOneStepAreJoined) {
  const MetricsFile file = parse_metrics(
      "step,epoch,loss_step,loss_epoch\n"
      "9,0,1,\n"
      "9,0,,2\n");
  ASSERT_EQ(file.series.size(), 2u);
  EXPECT_THAT(file.series[0].values, ElementsAre(1));
  EXPECT_THAT(file.series[1].values, ElementsAre(2));
}

TEST(MetricsFileTest, LastOfSeveralValuesAtOnePlaceCounts) {
  const MetricsFile file = parse_metrics("step,epoch,a\n0,0,1\n5,0,2\n0,0,3\n0,1,4\n");
  EXPECT_THAT(file.series.at(0).values, ElementsAre(3, 2, 4));
  EXPECT_THAT(file.series.at(0).steps, ElementsAre(0, 5, 0));
  EXPECT_THAT(file.series.at(0).epochs, ElementsAre(0, 0, 1));
}

TEST(MetricsFileTest, ValuesMayBeNotFinite) {
  const MetricsFile file = parse_metrics("step,epoch,a\n0,0,nan\n1,0,inf\n2,0,-inf\n");
  ASSERT_EQ(file.series.at(0).values.size(), 3u);
  EXPECT_TRUE(std::isnan(file.series[0].values[0]));
  EXPECT_GT(file.series[0].values[1], 1e308);
  EXPECT_LT(file.series[0].values[2], -1e308);
  EXPECT_THAT(file.notes, IsEmpty());
}

TEST(MetricsFileTest, NamesMayBeQuoted) {
  const MetricsFile file = parse_metrics("step,epoch,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\r\n1,0,1,2,\"3\"\r\n");
  ASSERT_EQ(file.series.size(), 3u);
  EXPECT_EQ(file.series[0].name, "a,b");
  EXPECT_EQ(file.series[1].name, "say \"x\"");
  EXPECT_EQ(file.series[2].name, "two\nlines");
  EXPECT_THAT(file.series[2].values, ElementsAre(3));
}

TEST(MetricsFileTest, LineThatAKillHasTornIsLeftOut) {
  const MetricsFile file = parse_metrics("step,epoch,a\n0,0,1.5\n1,0,1.2");
  EXPECT_THAT(file.series.at(0).values, ElementsAre(1.5));
  EXPECT_THAT(file.notes, ElementsAre("metrics.csv: the last line is cut off and left out."));
}

TEST(MetricsFileTest, FilesWithoutAWholeHeaderHaveNoSeries) {
  EXPECT_THAT(parse_metrics("").series, IsEmpty());
  EXPECT_THAT(parse_metrics("").notes, IsEmpty());
  EXPECT_THAT(parse_metrics("step,epo").notes,
              ElementsAre("metrics.csv: the header is cut off, so there are no metrics."));
  EXPECT_THAT(parse_metrics("a,b\n1,2\n").notes,
              ElementsAre("metrics.csv: there is no column \"step\", so this is no log of metrics."));
  EXPECT_THAT(parse_metrics("step,epoch,a\n").series, IsEmpty());
}

TEST(MetricsFileTest, BadRowsAreLeftOutAndNoted) {
  const MetricsFile file = parse_metrics(
      "step,epoch,a\n"
      "0,0,1\n"
      "\n"
      ",0,2\n"
      "-1,0,3\n"
      "1.5,0,4\n"
      "2,0,five\n"
      "3,0\n"
      "4,0,6,7\n"
      "garbage\n");
  EXPECT_THAT(file.series.at(0).values, ElementsAre(1, 6));
  EXPECT_THAT(file.notes, ElementsAre("metrics.csv: 4 rows have no step or no epoch and are left out.",
                                      "metrics.csv: 1 cells are no numbers and are left out.",
                                      "metrics.csv: 1 rows have more cells than the header has names."));
}

TEST(MetricsFileTest, RowsOfSingleValidationBatchesAreLeftOut) {
  const MetricsFile file = parse_metrics(
      "step,epoch,validation_batch,val_loss_step,val_loss_epoch\n"
      "9,0,0,3,\n"
      "9,0,1,5,\n"
      "9,0,,,4\n");
  ASSERT_EQ(file.series.size(), 1u);
  EXPECT_EQ(file.series[0].name, "val_loss_epoch");
  EXPECT_THAT(file.series[0].values, ElementsAre(4));
  EXPECT_THAT(file.notes, IsEmpty());
}

TEST(MetricsFileTest, ColumnsMayStandInAnyOrderAndEpochMayBeMissing) {
  const MetricsFile file = parse_metrics(
      "\xEF\xBB\xBF"
      "a,step\n0.5,3.0\n");
  EXPECT_THAT(file.series.at(0).steps, ElementsAre(3));
  EXPECT_THAT(file.series.at(0).epochs, ElementsAre(0));
}

TEST(MetricsFileTest, BytesOfAnyKindAreRead) {
  std::string bytes;
  for (int i = 0; i < 2000; ++i) bytes += static_cast<char>((i * 7919) % 256);
  parse_metrics(bytes);
  const MetricsFile file = parse_metrics("step,epoch,a\n" + bytes + "\n\"\n7,0,1\n");
  EXPECT_FALSE(file.notes.empty());
}

}  // namespace
}  // namespace levin
