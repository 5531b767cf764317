#include "callbacks/loggers/csv_logger.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <fstream>
#include <limits>
#include <memory>
#include <random>
#include <sstream>

#include "tests/callbacks/loggers/log_folder.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

class CSVLoggerTest : public testing::Test {
 protected:
  std::unique_ptr<CSVLogger> open() const {
    auto logger = std::make_unique<CSVLogger>();
    logger->open(dir_);
    return logger;
  }
  std::string text() const { return folder_.read("metrics.csv"); }
  void write(const std::string& content) const { folder_.write("metrics.csv", content); }

  LogFolder folder_;
  const fs::path dir_ = folder_.path();
  const fs::path file_ = dir_ / "metrics.csv";
};

// Field case B30.
TEST_F(CSVLoggerTest, NewNameLeavesEmptyCellsInOlderRows) {
  const auto logger = open();
  logger->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  logger->log_metrics(make_metrics({{"a", 2.0}, {"b", 3.0}}), 1, 0);
  logger->log_metrics(make_metrics({{"b", 4.5}}), 2, 1);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a,b\n0,0,1,\n1,0,2,3\n2,1,,4.5\n");
}

TEST_F(CSVLoggerTest, MetricsOfOneStepShareARow) {
  const auto logger = open();
  logger->log_metrics(make_metrics({{"val_loss", 0.5}}), 9, 0);
  logger->log_metrics(make_metrics({{"train_acc", 0.25}}), 9, 0);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,val_loss,train_acc\n9,0,0.5,0.25\n");
}

TEST_F(CSVLoggerTest, SameNameStepOrEpochDecidesWhetherRowsJoin) {
  const auto logger = open();
  logger->log_metrics(make_metrics({{"a", 1.0}}), 9, 0);
  logger->log_metrics(make_metrics({{"a", 2.0}}), 9, 0);  // the name is there already
  logger->log_metrics(make_metrics({{"b", 3.0}}), 9, 1);  // another epoch
  logger->log_metrics(make_metrics({{"c", 4.0}}), 10, 1);
  logger->flush();
  logger->log_metrics(make_metrics({{"d", 5.0}}), 10, 1);  // the row is in the file already, and written anew
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a,b,c,d\n9,0,1,,,\n9,0,2,,,\n9,1,,3,,\n10,1,,,4,5\n");
}

TEST_F(CSVLoggerTest, DestructorWritesThePendingRow) {
  open()->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  EXPECT_EQ(text(), "step,epoch,a\n0,0,1\n");
}

TEST_F(CSVLoggerTest, NoMetricsMakeNoRow) {
  open()->log_metrics({}, 0, 0);
  EXPECT_EQ(text(), "");
}

TEST_F(CSVLoggerTest, ValuesThatAreNotFiniteHaveNames) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  open()->log_metrics(make_metrics({{"a", nan}, {"b", -nan}, {"c", inf}, {"d", -inf}}), 0, 0);
  EXPECT_EQ(text(), "step,epoch,a,b,c,d\n0,0,nan,nan,inf,-inf\n");
}

TEST_F(CSVLoggerTest, ValuesReadBackExactly) {
  std::mt19937_64 random(1);
  std::vector<double> values = {0.1, 1.0 / 3.0, 5e-324, -0.0, 1.7976931348623157e308};
  while (values.size() < 1000) {
    const double value = std::bit_cast<double>(random());
    if (value - value == 0.0) values.push_back(value);  // finite
  }
  const auto logger = open();
  for (size_t i = 0; i < values.size(); ++i) logger->log_metrics(make_metrics({{"a", values[i]}}), i, 0);
  logger->flush();
  std::istringstream lines(text());
  std::string line;
  std::getline(lines, line);
  for (const double value : values) {
    ASSERT_TRUE(std::getline(lines, line));
    const double read = std::strtod(line.c_str() + line.rfind(',') + 1, nullptr);
    EXPECT_EQ(std::bit_cast<uint64_t>(read), std::bit_cast<uint64_t>(value)) << line;
  }
}

TEST_F(CSVLoggerTest, NamesAreQuotedAndReadBack) {
  open()->log_metrics(make_metrics({{"a,b", 1.0}, {"say \"hi\"", 2.0}, {"two\nlines", 3.0}}), 0, 0);
  const std::string header = "step,epoch,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\n";
  EXPECT_EQ(text(), header + "0,0,1,2,3\n");
  open()->log_metrics(make_metrics({{"two\nlines", 6.0}, {"a,b", 4.0}}), 1, 0);
  EXPECT_EQ(text(), header + "0,0,1,2,3\n1,0,4,,6\n");
}

// Field case B30.
TEST_F(CSVLoggerTest, OldRowsStayWhenTheFileIsOpenedAgain) {
  open()->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  const auto logger = open();
  logger->log_metrics(make_metrics({{"a", 2.0}}), 1, 0);
  logger->log_metrics(make_metrics({{"b", 3.0}}), 2, 0);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a,b\n0,0,1,\n1,0,2,\n2,0,,3\n");
}

TEST_F(CSVLoggerTest, TornLastLineIsDropped) {
  write("step,epoch,a\n0,0,1\n1,0,0.33333");
  open()->log_metrics(make_metrics({{"a", 0.5}}), 1, 0);
  EXPECT_EQ(text(), "step,epoch,a\n0,0,1\n1,0,0.5\n");
}

TEST_F(CSVLoggerTest, TornHeaderIsDropped) {
  for (const char* torn : {"st", "step,epoch,tr", "step,epoch,\"a\n"}) {
    write(torn);
    open()->log_metrics(make_metrics({{"b", 0.5}}), 0, 0);
    EXPECT_EQ(text(), "step,epoch,b\n0,0,0.5\n") << torn;
  }
}

TEST_F(CSVLoggerTest, ForeignFileIsLeftAlone) {
  for (const char* foreign : {"name,value\n1,2\n", "hello", "step,epochs\n1,2\n", "step,epoch_loss"}) {
    write(foreign);
    try {
      open();
      ADD_FAILURE() << foreign;
    } catch (const OutputError& error) {
      EXPECT_EQ(error.what(), "[CSVLogger] " + file_.string() +
                                  " is no log of metrics: its first columns are not \"step,epoch\". Move it away, or "
                                  "use another run folder.");
    }
    EXPECT_EQ(text(), foreign);
  }
}

// Field case B30: steps do not repeat where a run goes on from a checkpoint.
TEST_F(CSVLoggerTest, LoadStateDropsTheRowsAfterIt) {
  write("step,epoch,a,b\n49,0,1,\n99,0,2,\n99,0,,3\n");
  auto logger = open();
  const StateDict state = logger->state();
  logger->log_metrics(make_metrics({{"a", 4.0}}), 149, 1);
  logger->log_metrics(make_metrics({{"a", 4.5}}), 199, 1);
  logger = nullptr;
  logger = open();
  logger->load_state(state);
  logger->log_metrics(make_metrics({{"a", 5.0}}), 149, 1);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a,b\n49,0,1,\n99,0,2,\n99,0,,3\n149,1,5,\n");
}

TEST_F(CSVLoggerTest, LoadStateDropsRowsThatWaitInMemory) {
  const auto logger = open();
  logger->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  logger->flush();
  const StateDict state = logger->state();
  for (int64_t step = 1; step < 4; ++step) logger->log_metrics(make_metrics({{"a", 2.0}}), step, 0);
  logger->load_state(state);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a\n0,0,1\n");
}

TEST_F(CSVLoggerTest, LoadStateDropsTheColumnsAfterIt) {
  auto logger = open();
  logger->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  logger->log_metrics(make_metrics({{"a", 2.0}, {"b,c", 3.0}}), 1, 0);
  logger->flush();
  const StateDict state = logger->state();
  const std::string before = text();
  for (int i = 0; i < 2; ++i) {
    logger->log_metrics(make_metrics({{"a", 4.0}, {"d", 5.0}}), 2, 1);
    logger->log_metrics(make_metrics({{"e", 6.0}}), 3, 1);
    logger->flush();
    ASSERT_TRUE(text().starts_with("step,epoch,a,\"b,c\",d,e\n0,0,1,,,\n")) << text();
    if (i == 1) logger = open();
    logger->load_state(state);
    EXPECT_EQ(text(), before);
  }
  logger->log_metrics(make_metrics({{"f", 7.0}}), 2, 1);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a,\"b,c\",f\n0,0,1,,\n1,0,2,3,\n2,1,,,7\n");
}

TEST_F(CSVLoggerTest, StateOfAnEmptyLogEmptiesIt) {
  const auto logger = open();
  const StateDict state = logger->state();
  logger->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  logger->flush();
  logger->load_state(state);
  EXPECT_EQ(text(), "");
  logger->log_metrics(make_metrics({{"b", 1.0}}), 0, 0);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,b\n0,0,1\n");
}

TEST_F(CSVLoggerTest, LogThatIsShorterThanItsStateGoesOn) {
  auto logger = open();
  for (int64_t step = 0; step < 3; ++step) logger->log_metrics(make_metrics({{"a", 1.0}}), step, 0);
  logger->flush();
  const StateDict state = logger->state();
  for (const std::string left : {"", "step,epoch,a\n0,0,1\n", "step,epoch,a\n0,0,1\n1,0"}) {
    write(left);
    logger = open();
    logger->load_state(state);
    // The state itself holds the last row, which may still be joined.
    const std::string whole = left.empty() ? "step,epoch,a\n" : left.substr(0, left.rfind('\n') + 1);
    EXPECT_EQ(text(), whole + "2,0,1\n");
  }
}

TEST_F(CSVLoggerTest, StateOfAnotherLogIsAnError) {
  write("step,epoch,a\n0,0,1\n1,0,1\n");
  const StateDict state = open()->state();
  for (const char* other : {"step,epoch,b\n0,0,1\n1,0,1\n",        // another column
                            "step,epoch,a\n0,0,1.5\n1,0,1\n",      // the state ends within a row
                            "step,epoch,a,b\n0,0,1,2\n1,0,1,2\n",  // the new column has values before the state
                            "step,epoch,a,b\n0,0,1.5,\n1,0,1,\n"}) {
    write(other);
    const auto logger = open();
    try {
      logger->load_state(state);
      ADD_FAILURE() << other;
    } catch (const OutputError& error) {
      EXPECT_EQ(error.what(), "[CSVLogger] " + file_.string() +
                                  " is not the log that the checkpoint belongs to: its columns or rows differ. Move it "
                                  "away, or use another run folder.");
    }
    EXPECT_EQ(text(), other);
  }
}

TEST_F(CSVLoggerTest, KillAfterTheStateDoesNotKeepItFromLoading) {
  auto logger = open();
  logger->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  logger->flush();
  const StateDict state = logger->state();
  const std::string before = text();
  for (const char* torn : {"", "1", "1,0,2\n2,0,", "1,0,2\n2,0,3\n"}) {
    write(before + torn);
    logger = open();
    logger->load_state(state);
    EXPECT_EQ(text(), before);
  }
}

TEST_F(CSVLoggerTest, RowsAreWrittenInTime) {
  CSVLogger logger(CSVLogger::Options{.flush_seconds = 0});
  logger.open(dir_);
  logger.log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  logger.log_metrics(make_metrics({{"a", 2.0}}), 1, 0);  // held back for metrics of the same step
  EXPECT_EQ(text(), "step,epoch,a\n0,0,1\n");
}

TEST_F(CSVLoggerTest, LeftoverOfARewriteIsRemoved) {
  std::ofstream(dir_ / "metrics.csv.tmp") << "step";
  open();
  EXPECT_FALSE(fs::exists(dir_ / "metrics.csv.tmp"));
}

// What the process has handed to write() and its kin so far.
int64_t bytes_written() {
  std::ifstream io("/proc/self/io");
  std::string key;
  int64_t value = -1;
  while (io >> key >> value) {
    if (key == "wchar:") return value;
  }
  return -1;
}

// Field case B30. A name that comes in the last row is the worst place for one rewrite: twice the size.
TEST_F(CSVLoggerTest, TenThousandRowsWriteLessThanThreeTimesTheFile) {
  const auto logger = open();
  const int64_t before = bytes_written();
  ASSERT_GE(before, 0);
  for (int64_t step = 0; step < 10000; ++step) {
    Metrics row = make_metrics({{"a", 1.0 / static_cast<double>(step + 1)}});
    if (step == 1) row.set("b", 3.0);
    if (step == 9999) row.set("c", 4.0);
    logger->log_metrics(row, step, 0);
  }
  logger->flush();
  const auto size = static_cast<int64_t>(fs::file_size(file_));
  const int64_t written = bytes_written() - before;
  EXPECT_GT(size, 10000 * 10);
  EXPECT_GE(written, size);
  EXPECT_LT(written, 3 * size);
}

TEST_F(CSVLoggerTest, KillLosesNothingThatWasFlushed) {
  const pid_t child = fork();
  if (child == 0) {
    const auto logger = open();
    for (int64_t step = 0; step < 3; ++step) logger->log_metrics(make_metrics({{"a", 1.0}}), step, 0);
    logger->flush();
    logger->log_metrics(make_metrics({{"a", 1.0}}), 3, 0);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(text(), "step,epoch,a\n0,0,1\n1,0,1\n2,0,1\n");
}

// Limits the size of files, as a full disk does.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(CSVLoggerTest, FailedWriteNamesFileAndReasonAndTearsNothing) {
  const auto logger = open();
  logger->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  logger->flush();
  const std::string whole = text();
  logger->log_metrics(make_metrics({{"a", 2.0}}), 1, 0);
  {
    const FileSizeLimit limit(whole.size() + 3);
    try {
      logger->flush();
      ADD_FAILURE() << "the row was written";
    } catch (const OutputError& error) {
      EXPECT_EQ(error.what(), "[CSVLogger] Cannot write " + file_.string() + ": File too large.");
    }
    EXPECT_EQ(text(), whole);
  }
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a\n0,0,1\n1,0,2\n");
}

TEST_F(CSVLoggerTest, FailedRewriteKeepsTheOldFile) {
  const auto logger = open();
  logger->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  logger->flush();
  logger->log_metrics(make_metrics({{"b", 2.0}}), 1, 0);
  {
    const FileSizeLimit limit(10);
    EXPECT_THROW(logger->flush(), OutputError);
  }
  EXPECT_EQ(text(), "step,epoch,a\n0,0,1\n");
  EXPECT_FALSE(fs::exists(dir_ / "metrics.csv.tmp"));
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a,b\n0,0,1,\n1,0,,2\n");
}

TEST_F(CSVLoggerTest, MissingFolderIsAnError) {
  CSVLogger logger;
  try {
    logger.open(dir_ / "none");
    ADD_FAILURE();
  } catch (const OutputError& error) {
    EXPECT_EQ(error.what(),
              "[CSVLogger] Cannot open " + (dir_ / "none" / "metrics.csv").string() + ": No such file or directory.");
  }
}

TEST_F(CSVLoggerTest, NamesOfTheFixedColumnsAreTaken) {
  const auto logger = open();
  try {
    logger->log_metrics(make_metrics({{"epoch", 1.0}}), 0, 0);
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "[CSVLogger] A metric is called \"epoch\", which is a column of its own. Log it under another name.");
  }
}

TEST_F(CSVLoggerTest, LoggingBeforeOpenIsAFault) {
  CSVLogger logger;
  EXPECT_THROW(logger.log_metrics(make_metrics({{"a", 1.0}}), 0, 0), InternalError);
}

}  // namespace
}  // namespace levin
