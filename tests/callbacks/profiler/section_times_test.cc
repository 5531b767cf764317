#include "callbacks/profiler/section_times.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <stdexcept>

namespace levin {
namespace {

// Two ticks are one nanosecond.
int64_t fake_ticks = 0;
constexpr TickClock kFakeClock = {[] { return fake_ticks; }, [] { return fake_ticks / 2; }};

void pass(int64_t nanoseconds) { fake_ticks += 2 * nanoseconds; }

SectionTime find(const std::vector<SectionTime>& times, const std::string& name) {
  const auto it = std::find_if(times.begin(), times.end(), [&](const SectionTime& t) { return t.name == name; });
  return it == times.end() ? SectionTime{"missing", -1, -1, -1} : *it;
}

double nanoseconds_of(const SectionTimes& times, const std::string& name) {
  return find(times.times(), name).seconds * 1e9;
}

TEST(SectionTimesTest, TimeCountsForTheInnermostSection) {
  SectionTimes times(kFakeClock);
  times.start();
  pass(10);
  times.begin(Section::kCallbacks);
  pass(20);
  times.begin(Section::kCheckpoint);
  pass(300);
  times.end(Section::kCheckpoint);
  pass(30);
  times.end(Section::kCallbacks);
  pass(40);
  times.stop();
  pass(5000);

  EXPECT_NEAR(nanoseconds_of(times, "callbacks"), 50, 1e-9);
  EXPECT_NEAR(nanoseconds_of(times, "checkpoint"), 300, 1e-9);
  EXPECT_NEAR(nanoseconds_of(times, "loop"), 50, 1e-9);
  EXPECT_NEAR(times.wall_seconds() * 1e9, 400, 1e-9);
  EXPECT_NEAR(find(times.times(), "checkpoint").share, 0.75, 1e-12);
  EXPECT_EQ(find(times.times(), "callbacks").count, 1);
  EXPECT_EQ(find(times.times(), "loop").count, 0);
}

TEST(SectionTimesTest, SecondsAddUpToTheWallTimeAndSharesToOne) {
  SectionTimes times(kFakeClock);
  times.start();
  for (int i = 0; i < kNumSections; ++i) {
    pass(3);
    ProfileScope outer(&times, static_cast<Section>(i));
    pass(5 * i);
    ProfileScope inner(&times, static_cast<Section>((i + 1) % kNumSections));
    pass(7);
  }
  times.stop();
  double seconds = 0;
  double share = 0;
  for (const SectionTime& time : times.times()) {
    seconds += time.seconds;
    share += time.share;
    EXPECT_EQ(time.count, time.name == "loop" ? 0 : 2) << time.name;
  }
  EXPECT_NEAR(seconds, times.wall_seconds(), 1e-15);
  EXPECT_NEAR(share, 1.0, 1e-12);
  EXPECT_NEAR(times.wall_seconds() * 1e9, 30 + 225 + 70, 1e-9);
}

TEST(SectionTimesTest, ListsEverySectionInOrderAndThenTheLoop) {
  const std::vector<SectionTime> times = SectionTimes(kFakeClock).times();
  ASSERT_EQ(times.size(), kNumSections + 1u);
  EXPECT_EQ(times.front().name, "data_wait");
  EXPECT_EQ(times[9].name, "checkpoint");
  EXPECT_EQ(times.back().name, "loop");
  for (const SectionTime& time : times) EXPECT_EQ(time.seconds, 0) << time.name;
}

TEST(SectionTimesTest, TellsTheTimesSoFarWhileTheFitRuns) {
  SectionTimes times(kFakeClock);
  times.start();
  pass(10);
  times.begin(Section::kForward);
  pass(30);
  EXPECT_NEAR(nanoseconds_of(times, "forward"), 30, 1e-9);
  EXPECT_NEAR(nanoseconds_of(times, "loop"), 10, 1e-9);
  EXPECT_EQ(find(times.times(), "forward").count, 0);
  pass(5);
  times.end(Section::kForward);
  EXPECT_NEAR(nanoseconds_of(times, "forward"), 35, 1e-9);
}

TEST(SectionTimesTest, ErrorInASectionEndsIt) {
  SectionTimes times(kFakeClock);
  times.start();
  try {
    ProfileScope scope(&times, Section::kForward);
    pass(10);
    throw std::runtime_error("bad batch");
  } catch (const std::runtime_error&) {
  }
  pass(1);
  times.stop();
  EXPECT_NEAR(nanoseconds_of(times, "forward"), 10, 1e-9);
  EXPECT_NEAR(nanoseconds_of(times, "loop"), 1, 1e-9);
}

TEST(SectionTimesTest, NextFitStartsFromZero) {
  SectionTimes times(kFakeClock);
  times.start();
  times.begin(Section::kForward);
  pass(10);
  times.end(Section::kForward);
  times.stop();
  times.start();
  pass(4);
  times.stop();
  EXPECT_EQ(find(times.times(), "forward").count, 0);
  EXPECT_NEAR(times.wall_seconds() * 1e9, 4, 1e-9);
}

TEST(SectionTimesTest, EndWithoutBeginAndVeryDeepNestingLoseNoTime) {
  SectionTimes times(kFakeClock);
  times.start();
  times.end(Section::kForward);
  for (int i = 0; i < 100; ++i) times.begin(Section::kCallbacks);
  pass(10);
  for (int i = 0; i < 100; ++i) times.end(Section::kCallbacks);
  pass(3);
  EXPECT_NEAR(nanoseconds_of(times, "callbacks"), 10, 1e-9);
  EXPECT_NEAR(nanoseconds_of(times, "loop"), 3, 1e-9);
}

TEST(SectionTimesTest, RealClockTellsTheTimeOfASleep) {
  SectionTimes times;
  times.start();
  times.begin(Section::kDataWait);
  const timespec duration = {0, 20'000'000};
  nanosleep(&duration, nullptr);
  times.end(Section::kDataWait);
  times.stop();
  EXPECT_GE(nanoseconds_of(times, "data_wait"), 19.9e6);
  EXPECT_LE(find(times.times(), "data_wait").seconds, times.wall_seconds());
}

double thread_cpu_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// CPU time of this thread for a begin and an end, the best of several, so that a busy machine does not fail the test.
double seconds_of_begin_and_end(TickClock clock) {
  SectionTimes times(clock);
  times.start();
  Profiler* const profiler = &times;
  double best = 1.0;
  constexpr int kCalls = 100'000;
  for (int round = 0; round < 5; ++round) {
    const double start = thread_cpu_seconds();
    for (int i = 0; i < kCalls; ++i) ProfileScope scope(profiler, static_cast<Section>(i % kNumSections));
    best = std::min(best, (thread_cpu_seconds() - start) / kCalls);
  }
  return best;
}

// The cost is 20 to 60 ns; the bound leaves room for sanitizers and slow machines, and 1 us would be a fault.
TEST(SectionTimesTest, BeginAndEndAreCheap) {
  const double fastest = seconds_of_begin_and_end(fastest_clock());
  const double steady = seconds_of_begin_and_end({steady_nanoseconds, steady_nanoseconds});
  RecordProperty("fastest_clock_ns", std::to_string(fastest * 1e9));
  RecordProperty("steady_clock_ns", std::to_string(steady * 1e9));
  EXPECT_LT(fastest, 1e-6);
  EXPECT_LT(steady, 1e-6);
}

}  // namespace
}  // namespace levin
