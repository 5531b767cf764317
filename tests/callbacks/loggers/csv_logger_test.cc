#include "callbacks/loggers/csv_logger.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <fstream>
#include <limits>
#include <memory>
#include <random>
#include <sstream>

#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

Metrics metrics(std::initializer_list<Metrics::Entry> entries) {
  Metrics result;
  for (const auto& [name, value] : entries) result.set(name, value);
  return result;
}

class CSVLoggerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "levin_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
    file_ = dir_ / "metrics.csv";
  }
  void TearDown() override { fs::remove_all(dir_); }

  std::unique_ptr<CSVLogger> open() const {
    auto logger = std::make_unique<CSVLogger>();
    logger->open(dir_);
    return logger;
  }
  std::string text() const {
    std::ifstream stream(file_);
    std::ostringstream result;
    result << stream.rdbuf();
    return result.str();
  }
  void write(const std::string& content) const { std::ofstream(file_) << content; }

  fs::path dir_;
  fs::path file_;
};

// Field case B30.
TEST_F(CSVLoggerTest, NewNameLeavesEmptyCellsInOlderRows) {
  const auto logger = open();
  logger->log_metrics(metrics({{"a", 1.0}}), 0, 0);
  logger->log_metrics(metrics({{"a", 2.0}, {"b", 3.0}}), 1, 0);
  logger->log_metrics(metrics({{"b", 4.5}}), 2, 1);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a,b\n0,0,1,\n1,0,2,3\n2,1,,4.5\n");
}

TEST_F(CSVLoggerTest, MetricsOfOneStepShareARow) {
  const auto logger = open();
  logger->log_metrics(metrics({{"val_loss", 0.5}}), 9, 0);
  logger->log_metrics(metrics({{"train_acc", 0.25}}), 9, 0);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,val_loss,train_acc\n9,0,0.5,0.25\n");
}

TEST_F(CSVLoggerTest, SameNameStepOrEpochDecidesWhetherRowsJoin) {
  const auto logger = open();
  logger->log_metrics(metrics({{"a", 1.0}}), 9, 0);
  logger->log_metrics(metrics({{"a", 2.0}}), 9, 0);  // the name is there already
  logger->log_metrics(metrics({{"b", 3.0}}), 9, 1);  // another epoch
  logger->log_metrics(metrics({{"c", 4.0}}), 10, 1);
  logger->flush();
  logger->log_metrics(metrics({{"d", 5.0}}), 10, 1);  // the row is written already
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a,b,c,d\n9,0,1,,,\n9,0,2,,,\n9,1,,3,,\n10,1,,,4,\n10,1,,,,5\n");
}

TEST_F(CSVLoggerTest, DestructorWritesThePendingRow) {
  open()->log_metrics(metrics({{"a", 1.0}}), 0, 0);
  EXPECT_EQ(text(), "step,epoch,a\n0,0,1\n");
}

TEST_F(CSVLoggerTest, NoMetricsMakeNoRow) {
  open()->log_metrics({}, 0, 0);
  EXPECT_EQ(text(), "");
}

TEST_F(CSVLoggerTest, ValuesThatAreNotFiniteHaveNames) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  open()->log_metrics(metrics({{"a", nan}, {"b", -nan}, {"c", inf}, {"d", -inf}}), 0, 0);
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
  for (size_t i = 0; i < values.size(); ++i) logger->log_metrics(metrics({{"a", values[i]}}), i, 0);
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
  open()->log_metrics(metrics({{"a,b", 1.0}, {"say \"hi\"", 2.0}, {"two\nlines", 3.0}}), 0, 0);
  const std::string header = "step,epoch,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\n";
  EXPECT_EQ(text(), header + "0,0,1,2,3\n");
  open()->log_metrics(metrics({{"two\nlines", 6.0}, {"a,b", 4.0}}), 1, 0);
  EXPECT_EQ(text(), header + "0,0,1,2,3\n1,0,4,,6\n");
}

// Field case B30.
TEST_F(CSVLoggerTest, OldRowsStayWhenTheFileIsOpenedAgain) {
  open()->log_metrics(metrics({{"a", 1.0}}), 0, 0);
  const auto logger = open();
  logger->log_metrics(metrics({{"a", 2.0}}), 1, 0);
  logger->log_metrics(metrics({{"b", 3.0}}), 2, 0);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a,b\n0,0,1,\n1,0,2,\n2,0,,3\n");
}

TEST_F(CSVLoggerTest, TornLastLineIsDropped) {
  write("step,epoch,a\n0,0,1\n1,0,0.33333");
  open()->log_metrics(metrics({{"a", 0.5}}), 1, 0);
  EXPECT_EQ(text(), "step,epoch,a\n0,0,1\n1,0,0.5\n");
}

TEST_F(CSVLoggerTest, TornHeaderIsDropped) {
  for (const char* torn : {"st", "step,epoch,tr", "step,epoch,\"a\n"}) {
    write(torn);
    open()->log_metrics(metrics({{"b", 0.5}}), 0, 0);
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
TEST_F(CSVLoggerTest, RowsFromAStepOnAreDropped) {
  write("step,epoch,a,b\n49,0,1,\n99,0,2,\n99,0,,3\n149,1,4,\n");
  const auto logger = open();
  logger->drop_rows_from(100);
  logger->log_metrics(metrics({{"a", 5.0}}), 149, 1);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a,b\n49,0,1,\n99,0,2,\n99,0,,3\n149,1,5,\n");
  logger->drop_rows_from(0);
  EXPECT_EQ(text(), "step,epoch,a,b\n");
}

TEST_F(CSVLoggerTest, RowsStayInAnEmptyFile) {
  const auto logger = open();
  logger->drop_rows_from(0);
  logger->log_metrics(metrics({{"a", 1.0}}), 0, 0);
  logger->flush();
  EXPECT_EQ(text(), "step,epoch,a\n0,0,1\n");
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
    Metrics row = metrics({{"a", 1.0 / static_cast<double>(step + 1)}});
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
    for (int64_t step = 0; step < 3; ++step) logger->log_metrics(metrics({{"a", 1.0}}), step, 0);
    logger->flush();
    logger->log_metrics(metrics({{"a", 1.0}}), 3, 0);
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
  logger->log_metrics(metrics({{"a", 1.0}}), 0, 0);
  logger->flush();
  const std::string whole = text();
  logger->log_metrics(metrics({{"a", 2.0}}), 1, 0);
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
  logger->log_metrics(metrics({{"a", 1.0}}), 0, 0);
  logger->flush();
  logger->log_metrics(metrics({{"b", 2.0}}), 1, 0);
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
    logger->log_metrics(metrics({{"epoch", 1.0}}), 0, 0);
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "[CSVLogger] A metric is called \"epoch\", which is a column of its own. Log it under another name.");
  }
}

TEST_F(CSVLoggerTest, LoggingBeforeOpenIsAFault) {
  CSVLogger logger;
  EXPECT_THROW(logger.log_metrics(metrics({{"a", 1.0}}), 0, 0), InternalError);
}

}  // namespace
}  // namespace levin
