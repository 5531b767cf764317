#include "callbacks/loggers/tensorboard_logger.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tests/callbacks/loggers/event_file.h"
#include "tests/callbacks/loggers/log_folder.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Pair;

class TensorBoardLoggerTest : public testing::Test {
 protected:
  std::unique_ptr<TensorBoardLogger> open() const {
    auto logger = std::make_unique<TensorBoardLogger>();
    logger->open(folder_.path());
    return logger;
  }
  // Logs `loss` at the steps from `first` up to `end`.
  static void log(Logger& logger, int64_t first, int64_t end) {
    for (int64_t step = first; step < end; ++step) {
      logger.log_metrics(make_metrics({{"loss", std::exp2(-static_cast<double>(step))}}), step, 0);
    }
  }
  // Names of the event files, in TensorBoard's order.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator(folder_.path())) names.push_back(item.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::vector<ReadEvent> events(size_t file = 0) const { return read_events(folder_.read(files().at(file))); }
  // The steps that have a loss, which must be 2^-step.
  std::vector<int64_t> steps_of_loss(size_t file = 0) const {
    std::vector<int64_t> steps;
    for (const ReadEvent& event : events(file)) {
      if (!event.scalars.contains("loss")) continue;
      EXPECT_EQ(event.scalars.at("loss"), std::exp2(-static_cast<float>(event.step)));
      steps.push_back(event.step);
    }
    return steps;
  }

  LogFolder folder_;
};

// Field case A18.
TEST_F(TensorBoardLoggerTest, ScalarsHaveNameStepAndEpoch) {
  const double before = static_cast<double>(::time(nullptr));
  const auto logger = open();
  logger->log_metrics(make_metrics({{"loss", 1.0}, {"acc", 0.25}}), 0, 0);
  logger->log_metrics(make_metrics({{"loss", 0.5}}), 1, 3);
  logger->log_metrics({}, 2, 3);
  logger->flush();
  ASSERT_EQ(files().size(), 1u);
  EXPECT_THAT(files()[0],
              MatchesRegex("events\\.out\\.tfevents\\.[0-9]{10}\\..+\\." + std::to_string(getpid()) + "\\.[0-9]+"));
  const auto read = events();
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].version, "brain.Event:2");
  EXPECT_EQ(read[1].step, 0);
  EXPECT_THAT(read[1].scalars, ElementsAre(Pair("acc", 0.25F), Pair("epoch", 0.0F), Pair("loss", 1.0F)));
  EXPECT_EQ(read[2].step, 1);
  EXPECT_THAT(read[2].scalars, ElementsAre(Pair("epoch", 3.0F), Pair("loss", 0.5F)));
  EXPECT_GE(read[1].time, before);
  EXPECT_LE(read[1].time, before + 60);
}

TEST_F(TensorBoardLoggerTest, EpochComesOnceAStep) {
  auto logger = open();
  logger->log_metrics(make_metrics({{"loss", 1.0}}), 9, 0);
  logger->log_metrics(make_metrics({{"val_loss", 2.0}}), 9, 0);
  logger->flush();
  const StateDict state = logger->state();
  logger = nullptr;
  logger = open();
  logger->load_state(state);
  logger->log_metrics(make_metrics({{"speed", 3.0}}), 9, 0);
  logger->log_metrics(make_metrics({{"loss", 1.0}}), 10, 0);
  logger->flush();
  std::vector<int64_t> steps;
  for (const ReadEvent& event : events()) {
    if (event.scalars.contains("epoch")) steps.push_back(event.step);
  }
  EXPECT_EQ(events().size(), 5u);
  EXPECT_EQ(steps, std::vector<int64_t>({9, 10}));
}

TEST_F(TensorBoardLoggerTest, WithoutEventsThereIsNoFile) {
  open();
  EXPECT_TRUE(files().empty());
}

// Field case A18.
TEST_F(TensorBoardLoggerTest, KillLosesNothingThatWasFlushed) {
  const pid_t child = fork();
  if (child == 0) {
    const auto logger = open();
    log(*logger, 0, 2);
    logger->flush();
    log(*logger, 2, 3);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(steps_of_loss(), std::vector<int64_t>({0, 1}));
}

// Field case A18.
TEST_F(TensorBoardLoggerTest, ResumeRepeatsNoStep) {
  auto logger = open();
  log(*logger, 0, 2);
  logger->flush();
  const StateDict state = logger->state();
  log(*logger, 2, 5);
  logger->load_state(state);  // back, with the rows in memory
  log(*logger, 2, 4);
  logger = nullptr;
  EXPECT_EQ(steps_of_loss(), std::vector<int64_t>({0, 1, 2, 3}));
  logger = open();
  logger->load_state(state);
  log(*logger, 2, 3);
  logger->flush();
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(steps_of_loss(), std::vector<int64_t>({0, 1, 2}));
}

TEST_F(TensorBoardLoggerTest, RecordThatAKillHasTornDoesNotKeepTheStateFromLoading) {
  auto logger = open();
  log(*logger, 0, 2);
  logger->flush();
  const StateDict state = logger->state();
  const std::string name = files()[0];
  logger = nullptr;
  folder_.write(name, folder_.read(name) + "torn");
  logger = open();
  logger->load_state(state);
  log(*logger, 2, 3);
  logger->flush();
  EXPECT_EQ(steps_of_loss(), std::vector<int64_t>({0, 1, 2}));
}

TEST_F(TensorBoardLoggerTest, StateBeforeTheFirstEventDropsThemAll) {
  auto logger = open();
  const StateDict state = logger->state();
  log(*logger, 0, 3);
  logger = nullptr;
  logger = open();
  logger->load_state(state);
  log(*logger, 0, 1);
  logger->flush();
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(events()[0].version, "brain.Event:2");
  EXPECT_EQ(steps_of_loss(), std::vector<int64_t>({0}));
}

TEST_F(TensorBoardLoggerTest, WithoutItsFileAStateBeginsANewOneThatPurges) {
  auto logger = open();
  log(*logger, 0, 3);
  logger->flush();
  const StateDict state = logger->state();
  logger = nullptr;
  const std::string name = files()[0];
  folder_.write(name, folder_.read(name).substr(0, static_cast<size_t>(state.integer("bytes")) - 1));
  logger = open();
  logger->load_state(state);
  log(*logger, 3, 4);
  logger->flush();
  ASSERT_EQ(files().size(), 2u);
  const auto read = events(1);
  EXPECT_EQ(read[0].version, "brain.Event:2");
  EXPECT_TRUE(read[1].starts_session);
  EXPECT_EQ(read[1].step, 3);
  EXPECT_EQ(steps_of_loss(1), std::vector<int64_t>({3}));
  // Going back again takes the new file away, with what it holds.
  fs::remove(folder_.path() / name);
  logger->load_state(state);
  EXPECT_TRUE(files().empty());
}

TEST_F(TensorBoardLoggerTest, StateCannotNameAFileElsewhere) {
  const auto logger = open();
  for (const char* name : {"../events.out.tfevents.1", "/etc/passwd", "metrics.csv", ""}) {
    StateDict state;
    state.set("file", std::string(name));
    state.set("bytes", int64_t{0});
    state.set("next_step", int64_t{0});
    state.set("epoch_step", int64_t{0});
    state.set("epoch", int64_t{0});
    state.set("has_hyperparameters", int64_t{0});
    EXPECT_THROW(logger->load_state(state), OutputError) << name;
  }
}

TEST_F(TensorBoardLoggerTest, SessionEndsWithTheLogger) {
  auto logger = open();
  logger->log_hyperparameters({{"lr", "1e-3"}, {"name", "gpt"}, {"shuffle", "true"}});
  log(*logger, 0, 1);
  logger->flush();
  const StateDict state = logger->state();
  for (const bool fails : {false, true, false}) {
    try {
      const auto mine = std::move(logger);
      if (fails) throw DataError("");
    } catch (const DataError&) {
    }
    const auto read = events();
    ASSERT_EQ(read.size(), 4u);
    EXPECT_THAT(read[1].messages.at("_hparams_/session_start_info"), HasSubstr("hparams"));
    // HParamsPluginData.session_end_info (4) of 11 bytes, its status (1): 1 success, 2 failure.
    const std::string end = {'\x22', '\xb', '\x8', fails ? '\2' : '\1', '\x11'};
    EXPECT_THAT(read[3].messages.at("_hparams_/session_end_info"), HasSubstr(end));
    logger = open();
    logger->load_state(state);
    EXPECT_EQ(events().size(), 3u);
  }
}

TEST_F(TensorBoardLoggerTest, TextThatIsNoUtf8IsMended) {
  const auto logger = open();
  logger->log_metrics(make_metrics({{"a\xff", 1.0}, {"\xc3\xa4", 2.0}}), 0, 0);
  logger->flush();
  EXPECT_THAT(events().at(1).scalars,
              ElementsAre(Pair("a\xef\xbf\xbd", 1.0F), Pair("epoch", 0.0F), Pair("\xc3\xa4", 2.0F)));
}

TEST_F(TensorBoardLoggerTest, ScalarsNeedNotBeFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto logger = open();
  logger->log_metrics(make_metrics({{"a", std::nan("")}, {"b", -inf}}), 0, 0);
  logger->flush();
  EXPECT_TRUE(std::isnan(events().at(1).scalars.at("a")));
  EXPECT_EQ(events().at(1).scalars.at("b"), -inf);
}

TEST_F(TensorBoardLoggerTest, WhatIsNoImageIsNamed) {
  const auto logger = open();
  for (const at::Tensor& image : {at::zeros({3, 2}), at::zeros({2, 4, 4}), at::zeros({1, 0, 4}),
                                  at::zeros({1, 4, 4}, at::kLong), at::zeros({1, 1, 4, 4})}) {
    EXPECT_THROW(logger->log_image("sample", image, 0), ModelError);
  }
  try {
    logger->log_image("sample", at::zeros({2, 4, 4}), 0);
  } catch (const ModelError& error) {
    EXPECT_STREQ(error.what(),
                 "[TensorBoardLogger] The image \"sample\" must be [C, H, W] with C 1 or 3, of uint8 or floating in "
                 "[0, 1], got [2, 4, 4] of Float.");
  }
  EXPECT_THROW(logger->log_histogram("h", at::zeros({2}, at::kComplexFloat), 0), ModelError);
  EXPECT_TRUE(files().empty());
}

TEST_F(TensorBoardLoggerTest, NameOfTheEpochIsTaken) {
  EXPECT_THROW(open()->log_metrics(make_metrics({{"epoch", 1.0}}), 0, 0), ConfigError);
}

TEST_F(TensorBoardLoggerTest, MissingFolderIsAnError) {
  TensorBoardLogger logger;
  logger.open(folder_.path() / "none");
  EXPECT_THROW(log(logger, 0, 1), OutputError);
}

TEST_F(TensorBoardLoggerTest, LoggingBeforeOpenIsAFault) {
  TensorBoardLogger logger;
  EXPECT_THROW(log(logger, 0, 1), InternalError);
}

}  // namespace
}  // namespace levin
