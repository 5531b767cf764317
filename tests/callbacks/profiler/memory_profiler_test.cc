#include "callbacks/profiler/memory_profiler.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace levin {
namespace {

constexpr int64_t kMebibyte = 1024 * 1024;

at::Tensor take(int64_t mebibytes) { return at::zeros({mebibytes * kMebibyte / 4}); }

// The cell in column `column` (from 1) of the row that begins with `name`; "" if there is none.
std::string cell(const std::string& report, const std::string& name, int column) {
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word != name) continue;
    for (int i = 0; i < column; ++i) words >> word;
    return word;
  }
  return "";
}

TEST(MemoryProfilerTest, PeaksBySection) {
  MemoryProfiler profiler;
  profiler.start("");
  at::Tensor kept;
  {
    const ProfileScope forward(&profiler, Section::kForward);
    kept = take(4);
    take(2);  // freed at once
  }
  profiler.end_batch();
  {
    const ProfileScope backward(&profiler, Section::kBackward);
    take(8);
  }
  {
    const ProfileScope optimizer(&profiler, Section::kOptimizer);
    const ProfileScope inner(&profiler, Section::kCallbacks);
    take(1);
  }
  kept.reset();
  profiler.stop();
  const std::string report = profiler.report();
  EXPECT_EQ(cell(report, "forward", 1), "6.0") << report;
  EXPECT_EQ(cell(report, "backward", 1), "12.0") << report;
  EXPECT_EQ(cell(report, "callbacks", 1), "5.0") << report;
  EXPECT_EQ(cell(report, "optimizer", 1), "4.0") << report;  // what was held when it began
  EXPECT_EQ(cell(report, "forward", 2), "0") << report;
  EXPECT_EQ(cell(report, "backward", 2), "1") << report;
}

TEST(MemoryProfilerTest, AfterTheFitNothingIsCounted) {
  MemoryProfiler profiler;
  profiler.start("");
  profiler.stop();
  const at::Tensor later = take(1);
  profiler.begin(Section::kForward);
  profiler.end(Section::kForward);
  profiler.stop();
  EXPECT_THAT(profiler.report(), testing::HasSubstr("nothing was allocated"));
}

TEST(MemoryProfilerTest, TheReportIsAFileOfTheRun) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "memory_profiler_test";
  std::filesystem::create_directories(folder);
  MemoryProfiler profiler;
  profiler.start(folder);
  take(1);
  profiler.stop();
  std::ifstream file(folder / "memory.txt");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), profiler.report());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace levin
