#include "callbacks/loggers/json_lines_logger.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/callbacks/loggers/log_folder.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

class JSONLinesLoggerTest : public testing::Test {
 protected:
  std::unique_ptr<JSONLinesLogger> open() const {
    auto logger = std::make_unique<JSONLinesLogger>();
    logger->open(folder_.path());
    return logger;
  }
  std::string text() const { return folder_.read("metrics.jsonl"); }
  void write(const std::string& content) const { folder_.write("metrics.jsonl", content); }

  LogFolder folder_;
};

TEST_F(JSONLinesLoggerTest, ARowIsALine) {
  const auto logger = open();
  logger->log_metrics(make_metrics({{"train_loss", 0.25}, {"lr", 1e-20}}), 49, 0);
  logger->log_metrics(make_metrics({{"val_loss", -3.0}}), 49, 1);
  logger->log_metrics({}, 50, 1);
  logger->flush();
  EXPECT_EQ(text(),
            "{\"step\":49,\"epoch\":0,\"train_loss\":0.25,\"lr\":1e-20}\n"
            "{\"step\":49,\"epoch\":1,\"val_loss\":-3}\n");
}

TEST_F(JSONLinesLoggerTest, NamesComeInAnyOrder) {
  const auto logger = open();
  logger->log_metrics(make_metrics({{"a", 1.0}, {"b", 2.0}, {"c", 3.0}}), 0, 0);
  logger->log_metrics(make_metrics({{"c", 4.0}, {"d", 5.0}, {"a", 6.0}}), 1, 0);
  logger->flush();
  EXPECT_EQ(text(),
            "{\"step\":0,\"epoch\":0,\"a\":1,\"b\":2,\"c\":3}\n"
            "{\"step\":1,\"epoch\":0,\"c\":4,\"d\":5,\"a\":6}\n");
}

TEST_F(JSONLinesLoggerTest, EveryLineIsValidJson) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto logger = open();
  logger->log_metrics(make_metrics({{"a", nan}, {"b", inf}, {"c", -inf}, {"d", 1e20}, {"e", 5e-324}, {"f", -0.0}}), 0,
                      0);
  logger->log_metrics(make_metrics({{"say \"hi\"\n", 1.0 / 3}, {"\xc3\xa4", 2.0}, {"\xff", 3.0}}), 1, 0);
  logger->flush();
  std::istringstream lines(text());
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "{\"step\":0,\"epoch\":0,\"a\":\"NaN\",\"b\":\"Infinity\",\"c\":\"-Infinity\",\"d\":1e+20,\"e\":5e-324,"
            "\"f\":-0}");
  EXPECT_EQ(nlohmann::json::parse(line)["e"].get<double>(), 5e-324);
  std::getline(lines, line);
  const auto row = nlohmann::json::parse(line);
  EXPECT_EQ(row["say \"hi\"\n"].get<double>(), 1.0 / 3);
  EXPECT_EQ(row["\xc3\xa4"].get<double>(), 2.0);
  EXPECT_EQ(row["\xef\xbf\xbd"].get<double>(), 3.0);
}

TEST_F(JSONLinesLoggerTest, LoadStateDropsTheLinesAfterIt) {
  auto logger = open();
  logger->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
  logger->flush();
  const StateDict state = logger->state();
  const std::string before = text();
  logger->log_metrics(make_metrics({{"a", 2.0}}), 1, 0);
  logger->load_state(state);
  logger->log_metrics(make_metrics({{"b", 3.0}}), 1, 0);
  logger->flush();
  EXPECT_EQ(text(), before + "{\"step\":1,\"epoch\":0,\"b\":3}\n");
  for (const char* torn : {"", "{\"st", "{\"step\":1,\"epoch\":0,\"b\":3}\n{\"step\""}) {
    write(before + torn);
    logger = open();
    logger->load_state(state);
    EXPECT_EQ(text(), before);
  }
}

TEST_F(JSONLinesLoggerTest, LogThatIsShorterThanItsStateGoesOn) {
  write("{\"step\":0,\"epoch\":0,\"a\":1}\n{\"step\":1,\"epoch\":0,\"a\":1}\n");
  const StateDict state = open()->state();
  write("{\"step\":0,\"epoch\":0,\"a\":1}\n{\"ste");
  open()->load_state(state);
  EXPECT_EQ(text(), "{\"step\":0,\"epoch\":0,\"a\":1}\n");
}

TEST_F(JSONLinesLoggerTest, StateOfAnotherLogIsAnError) {
  write("{\"step\":0,\"epoch\":0,\"a\":1}\n");
  const StateDict state = open()->state();
  const std::string other = "{\"step\":0,\"epoch\":0,\"a\":1.25}\n";
  write(other);
  try {
    open()->load_state(state);
    ADD_FAILURE();
  } catch (const OutputError& error) {
    EXPECT_EQ(error.what(), "[JSONLinesLogger] " + (folder_.path() / "metrics.jsonl").string() +
                                " is not the log that the checkpoint belongs to: byte 27 is within a line. Move it "
                                "away, or use another run folder.");
  }
  EXPECT_EQ(text(), other);
}

TEST_F(JSONLinesLoggerTest, ForeignFileIsLeftAlone) {
  write("[1, 2]\n");
  EXPECT_THROW(open(), OutputError);
  EXPECT_EQ(text(), "[1, 2]\n");
}

TEST_F(JSONLinesLoggerTest, KillLosesNothingThatWasFlushed) {
  const pid_t child = fork();
  if (child == 0) {
    const auto logger = open();
    logger->log_metrics(make_metrics({{"a", 1.0}}), 0, 0);
    logger->flush();
    logger->log_metrics(make_metrics({{"a", 2.0}}), 1, 0);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(text(), "{\"step\":0,\"epoch\":0,\"a\":1}\n");
}

TEST_F(JSONLinesLoggerTest, NamesOfTheFixedKeysAreTaken) {
  const auto logger = open();
  EXPECT_THROW(logger->log_metrics(make_metrics({{"step", 1.0}}), 0, 0), ConfigError);
  EXPECT_THROW(logger->log_metrics(make_metrics({{"epoch", 1.0}}), 0, 0), ConfigError);
}

TEST_F(JSONLinesLoggerTest, LoggingBeforeOpenIsAFault) {
  JSONLinesLogger logger;
  EXPECT_THROW(logger.log_metrics(make_metrics({{"a", 1.0}}), 0, 0), InternalError);
}

}  // namespace
}  // namespace levin
