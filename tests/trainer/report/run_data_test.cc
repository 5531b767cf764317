#include "trainer/report/run_data.h"

#include <gmock/gmock.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class RunDataTest : public testing::Test {
 protected:
  RunDataTest() { fs::create_directories(run()); }
  fs::path run() const { return folder_.path() / "runs" / "gpt" / "version_7"; }
  void write(const std::string& name, const std::string& text) const { write_bytes(run() / name, text); }

 private:
  TestFolder folder_;
};

TEST_F(RunDataTest, WholeFolderIsRead) {
  write("metrics.csv", "step,epoch,loss\n9,0,1\n");
  write("config.yaml", "seed: 1\ntrainer:\n  max_epochs: 3\n");
  write_run_record(run(), {.experiment = "gpt", .status = RunStatus::kFinished});
  const RunData data = read_run(run());
  EXPECT_EQ(data.name, "gpt/version_7");
  EXPECT_EQ(data.record.value().status, RunStatus::kFinished);
  EXPECT_EQ(data.metrics.at(0).name, "loss");
  EXPECT_EQ(data.config, "seed: 1\ntrainer:\n  max_epochs: 3\n");
  EXPECT_THAT(data.settings, ElementsAre(Pair("seed", "1"), Pair("trainer.max_epochs", "3")));
  EXPECT_THAT(data.notes, IsEmpty());
}

TEST_F(RunDataTest, NestedSettingsGetDottedKeys) {
  write("config.yaml",
        "callbacks:\n  - class: EarlyStopping\n    monitor: val_loss\n  - class: B\nempty: []\nnone: null\nmap: {}\n");
  EXPECT_THAT(
      read_run(run()).settings,
      ElementsAre(Pair("callbacks[0].class", "EarlyStopping"), Pair("callbacks[0].monitor", "val_loss"),
                  Pair("callbacks[1].class", "B"), Pair("empty", "[]"), Pair("none", "null"), Pair("map", "{}")));
}

TEST_F(RunDataTest, DamagedFilesBecomeNotesAndTheRestIsRead) {
  write("run.json", "{");
  write("config.yaml", "a: [1\n");
  write("metrics.csv", "step,epoch,loss\n9,0,1\n10,0");
  const RunData data = read_run(run());
  EXPECT_EQ(data.metrics.size(), 1u);
  EXPECT_FALSE(data.record.has_value());
  EXPECT_EQ(data.config, "a: [1\n");
  EXPECT_THAT(data.settings, IsEmpty());
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("run.json is no JSON"),
                                      "metrics.csv: the last line is cut off and left out.", HasSubstr("config.yaml")));
}

TEST_F(RunDataTest, FolderInPlaceOfAFileBecomesANote) {
  write("config.yaml", "seed: 1\n");
  fs::create_directory(run() / "metrics.csv");
  EXPECT_THAT(read_run(run()).notes, ElementsAre(HasSubstr("it is a folder")));
}

TEST_F(RunDataTest, RunWithoutMetricsSaysSo) {
  write("config.yaml", "seed: 1\n");
  EXPECT_THAT(read_run(run()).notes, ElementsAre(HasSubstr("There is no metrics.csv")));
  write("metrics.csv", "");
  EXPECT_THAT(read_run(run()).notes, ElementsAre("metrics.csv holds no values yet."));
}

TEST_F(RunDataTest, OtherFoldersAreErrors) {
  EXPECT_FALSE(is_run_folder(run()));
  EXPECT_EQ(error_text<ConfigError>([&] { read_run(run()); }),
            run().string() + " is no run folder: it has none of run.json, metrics.csv and config.yaml.");
}

TEST_F(RunDataTest, EpochsSpanTheStepsBetweenTheirLastOnes) {
  // 100 steps an epoch, logged every 40; the run ends within the third.
  write("metrics.csv", "step,epoch,a\n39,0,1\n79,0,1\n99,0,1\n119,1,1\n199,1,1\n239,2,1\n");
  EXPECT_THAT(read_run(run()).epochs,
              ElementsAre(EpochSpan{0, 0, 100}, EpochSpan{1, 100, 100}, EpochSpan{2, 200, 100}));
}

TEST_F(RunDataTest, EpochsOfAContinuedRunBeginWhereTheyAreSeen) {
  write("metrics.csv", "step,epoch,a\n500,5,1\n599,5,1\n699,6,1\n");
  EXPECT_THAT(read_run(run()).epochs, ElementsAre(EpochSpan{5, 500, 100}, EpochSpan{6, 600, 100}));
}

TEST_F(RunDataTest, EpochsWithoutStepsAreKeptApart) {
  write("metrics.csv", "step,epoch,val\n0,0,1\n0,1,2\n");
  const RunData data = read_run(run());
  EXPECT_THAT(data.metrics.at(0).values, ElementsAre(1, 2));
  EXPECT_THAT(data.epochs, ElementsAre(EpochSpan{0, 0, 1}, EpochSpan{1, 0, 1}));
}

}  // namespace
}  // namespace levin
