// What every logger that comes with Levin does.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <memory>

#include "callbacks/loggers/csv_logger.h"
#include "callbacks/loggers/json_lines_logger.h"
#include "callbacks/loggers/tensorboard_logger.h"
#include "tests/callbacks/loggers/event_file.h"
#include "tests/callbacks/loggers/log_folder.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

template <class T>
class LoggersTest : public testing::Test {
 protected:
  std::unique_ptr<T> open(double flush_seconds = 10) const {
    auto logger = std::make_unique<T>(typename T::Options{.flush_seconds = flush_seconds});
    logger->open(folder_.path());
    return logger;
  }
  // Bytes of all files.
  uintmax_t size() const {
    uintmax_t size = 0;
    for (const auto& item : fs::directory_iterator(folder_.path())) size += item.file_size();
    return size;
  }
  static void log(Logger& logger, int64_t step) { logger.log_metrics(make_metrics({{"loss", 0.5}}), step, 0); }

  LogFolder folder_;
};

using Loggers = testing::Types<CSVLogger, JSONLinesLogger, TensorBoardLogger>;
TYPED_TEST_SUITE(LoggersTest, Loggers);

TYPED_TEST(LoggersTest, RowsWaitInMemoryUntilFlush) {
  const auto logger = this->open();
  for (int64_t step = 0; step < 100; ++step) this->log(*logger, step);
  EXPECT_EQ(this->size(), 0u);
  logger->flush();
  EXPECT_GT(this->size(), 100 * 8u);
}

TYPED_TEST(LoggersTest, MemoryIsBounded) {
  const auto logger = this->open();
  for (int64_t step = 0; step < 20000; ++step) this->log(*logger, step);
  const auto before = this->size();
  logger->flush();
  EXPECT_LT(this->size() - before, 65 * 1024u);
}

TYPED_TEST(LoggersTest, NoFlushSecondsWriteAtOnce) {
  const auto logger = this->open(0);
  this->log(*logger, 0);
  this->log(*logger, 1);
  const auto before = this->size();
  EXPECT_GT(before, 0u);
  this->log(*logger, 2);
  EXPECT_GT(this->size(), before);
}

TYPED_TEST(LoggersTest, StateCountsWhatWaits) {
  const auto logger = this->open();
  for (int64_t step = 0; step < 3; ++step) this->log(*logger, step);
  const auto before = logger->state().integer("bytes");
  logger->flush();
  EXPECT_EQ(static_cast<int64_t>(this->size()), logger->state().integer("bytes"));
  EXPECT_LE(before, logger->state().integer("bytes"));
}

// A limit on the size of files stands in for a full disk.
TYPED_TEST(LoggersTest, FailedWriteIsAnErrorAndIsTriedAgain) {
  signal(SIGXFSZ, SIG_IGN);
  const auto logger = this->open();
  this->log(*logger, 0);
  logger->flush();
  const auto before = this->size();
  this->log(*logger, 1);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit limit{before + 3, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THROW(logger->flush(), OutputError);
  EXPECT_EQ(this->size(), before);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  logger->flush();
  EXPECT_EQ(static_cast<int64_t>(this->size()), logger->state().integer("bytes"));
  EXPECT_GT(this->size(), before);
}

TEST(LoggersTogetherTest, ShareAFolder) {
  const LogFolder folder;
  std::vector<std::unique_ptr<Logger>> loggers;
  loggers.push_back(std::make_unique<CSVLogger>());
  loggers.push_back(std::make_unique<TensorBoardLogger>());
  loggers.push_back(std::make_unique<TensorBoardLogger>());
  loggers.push_back(std::make_unique<JSONLinesLogger>());
  for (const auto& logger : loggers) logger->open(folder.path());
  for (const auto& logger : loggers) logger->log_metrics(make_metrics({{"loss", 0.5}}), 7, 1);
  loggers.clear();
  EXPECT_EQ(folder.read("metrics.csv"), "step,epoch,loss\n7,1,0.5\n");
  EXPECT_EQ(folder.read("metrics.jsonl"), "{\"step\":7,\"epoch\":1,\"loss\":0.5}\n");
  int num_event_files = 0;
  for (const auto& item : fs::directory_iterator(folder.path())) {
    const std::string name = item.path().filename();
    if (!name.starts_with("events.")) continue;
    const auto events = read_events(folder.read(name));
    EXPECT_EQ(events.size(), 2u);
    EXPECT_EQ(events.back().scalars.at("loss"), 0.5F);
    ++num_event_files;
  }
  EXPECT_EQ(num_event_files, 2);
}

}  // namespace
}  // namespace levin
