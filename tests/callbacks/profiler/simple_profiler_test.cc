#include "callbacks/profiler/simple_profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "trainer/core/error.h"

namespace levin {
namespace {

using testing::HasSubstr;
using testing::Not;

class SimpleProfilerTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  SimpleProfiler make(SimpleProfiler::Options options = {}, bool has_device = false) {
    return SimpleProfiler(options, {[this] { return now_; },
                                    [this, has_device] {
                                      ++num_synchronizations_;
                                      now_ += has_device ? waits_for_ : 0;
                                      waits_for_ = 0;
                                      return has_device;
                                    }});
  }
  void pass_us(int64_t microseconds) { now_ += microseconds * 1000; }
  void run(Profiler& profiler, Section section, int64_t microseconds) {
    ProfileScope scope(&profiler, section);
    pass_us(microseconds);
  }
  void run_batch(Profiler& profiler, int64_t factor) {
    run(profiler, Section::kForward, 300 * factor);
    run(profiler, Section::kBackward, 600 * factor);
    pass_us(100 * factor);
    profiler.end_batch();
  }

  int64_t now_ = 1'000'000;
  int64_t waits_for_ = 0;
  int num_synchronizations_ = 0;
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "simple_profiler_test";
};

TEST_F(SimpleProfilerTest, TableTellsEachSectionWithTheFirstBatchApart) {
  SimpleProfiler profiler = make();
  profiler.start("");
  run_batch(profiler, 10);
  run_batch(profiler, 1);
  run_batch(profiler, 3);
  profiler.stop();
  EXPECT_EQ(profiler.report(),
            "Profile of 3 batches. The first took 0.010 s, with what came before it.\n"
            "The other 2 took 0.004 s: 500.0 batches/s.\n"
            "\n"
            "section   total s    share  us/batch  calls  longest us  first ms\n"
            "backward    0.002   60.0 %    1200.0      2      1800.0     6.000\n"
            "forward     0.001   30.0 %     600.0      2       900.0     3.000\n"
            "loop        0.000   10.0 %     200.0                        1.000\n"
            "all         0.004  100.0 %    2000.0                       10.000\n");
}

TEST_F(SimpleProfilerTest, RateWithoutValidationIsToldWhereThereIsOne) {
  SimpleProfiler profiler = make();
  profiler.start("");
  run_batch(profiler, 1);
  run_batch(profiler, 1);
  run(profiler, Section::kValidation, 3000);
  profiler.stop();
  EXPECT_THAT(profiler.report(), HasSubstr(": 250.0 batches/s, 1000.0 batches/s without validation.\n"));
}

TEST_F(SimpleProfilerTest, OneBatchHasNoRate) {
  SimpleProfiler profiler = make();
  profiler.start("");
  run_batch(profiler, 1);
  profiler.stop();
  EXPECT_THAT(profiler.report(), HasSubstr("Profile of 1 batch. The first took 0.001 s"));
  EXPECT_THAT(profiler.report(), Not(HasSubstr("batches/s")));
  EXPECT_THAT(profiler.report(), Not(HasSubstr("nan")));
}

TEST_F(SimpleProfilerTest, FitThatFailsInItsFirstBatchStillHasATable) {
  SimpleProfiler profiler = make();
  profiler.start("");
  run(profiler, Section::kForward, 2000);
  profiler.stop();
  EXPECT_THAT(profiler.report(), HasSubstr("no batch was done in 0.002 s"));
  EXPECT_THAT(profiler.report(), HasSubstr("forward"));
  EXPECT_THAT(profiler.report(), Not(HasSubstr("backward")));
}

TEST_F(SimpleProfilerTest, WaitingForTheDeviceCountsForTheSectionThatStartedTheWork) {
  SimpleProfiler profiler = make({}, /*has_device=*/true);
  profiler.start("");
  profiler.end_batch();
  profiler.begin(Section::kForward);
  waits_for_ = 5'000'000;
  profiler.end(Section::kForward);
  waits_for_ = 0;
  profiler.begin(Section::kBackward);
  profiler.end(Section::kBackward);
  profiler.end_batch();
  profiler.stop();
  EXPECT_EQ(num_synchronizations_, 6);  // start, the end of the first batch, and four borders
  EXPECT_THAT(profiler.report(), testing::ContainsRegex("forward +0.005 +100.0 %"));
  EXPECT_THAT(profiler.report(), HasSubstr("The device was waited for"));
}

TEST_F(SimpleProfilerTest, DeviceIsNotWaitedForIfTheOptionIsOff) {
  SimpleProfiler profiler = make({.synchronize = false}, /*has_device=*/true);
  profiler.start("");
  run_batch(profiler, 1);
  profiler.stop();
  EXPECT_EQ(num_synchronizations_, 0);
  EXPECT_THAT(profiler.report(), Not(HasSubstr("The device was waited for")));
}

TEST_F(SimpleProfilerTest, ReportIsWrittenIntoTheRunFolder) {
  std::filesystem::create_directories(folder_);
  SimpleProfiler profiler = make();
  profiler.start(folder_);
  run_batch(profiler, 1);
  profiler.stop();
  std::stringstream text;
  text << std::ifstream(folder_ / "profile.txt").rdbuf();
  EXPECT_EQ(text.str(), profiler.report());
  EXPECT_FALSE(text.str().empty());
}

TEST_F(SimpleProfilerTest, FolderThatCannotBeWrittenIsAnErrorAndTheReportIsThere) {
  SimpleProfiler profiler = make();
  profiler.start(folder_ / "missing");
  run_batch(profiler, 1);
  try {
    profiler.stop();
    FAIL() << "no error";
  } catch (const OutputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("[SimpleProfiler] Cannot write"));
    EXPECT_THAT(error.what(), HasSubstr("profile.txt: No such file or directory."));
  }
  EXPECT_THAT(profiler.report(), HasSubstr("forward"));
}

TEST_F(SimpleProfilerTest, NextFitStartsFromZero) {
  SimpleProfiler profiler = make();
  profiler.start("");
  run_batch(profiler, 1);
  run_batch(profiler, 1);
  profiler.stop();
  const std::string report = profiler.report();
  profiler.start("");
  EXPECT_EQ(profiler.report(), "");
  run_batch(profiler, 1);
  run_batch(profiler, 1);
  profiler.stop();
  EXPECT_EQ(profiler.report(), report);
}

// On a machine without CUDA, or with a device that nobody has used.
TEST_F(SimpleProfilerTest, RealHooksTouchNoDevice) {
  SimpleProfiler profiler;
  profiler.start("");
  profiler.begin(Section::kForward);
  profiler.end(Section::kForward);
  profiler.end_batch();
  profiler.stop();
  EXPECT_THAT(profiler.report(), Not(HasSubstr("The device was waited for")));
}

}  // namespace
}  // namespace levin
