#include "callbacks/profiler/trace_profiler.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/core/error.h"

namespace levin {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class TraceProfilerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void run_batches(Profiler& profiler, int count) {
    for (int i = 0; i < count; ++i) {
      {
        ProfileScope outer(&profiler, Section::kCallbacks);
        ProfileScope inner(&profiler, Section::kForward);
        at::matmul(at::ones({3, 4}), at::ones({4, 5}));
      }
      profiler.end_batch();
    }
  }
  json events() const {
    std::ifstream file(folder_ / "trace.json");
    return json::parse(file).at("traceEvents");
  }
  // Complete events of that name.
  std::vector<json> find(const std::string& name) const {
    std::vector<json> found;
    for (const json& event : events()) {
      if (event.value("ph", "") == "X" && event.value("name", "") == name) found.push_back(event);
    }
    return found;
  }
  bool has_trace() const { return std::filesystem::exists(folder_ / "trace.json"); }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "trace_profiler_test";
};

bool lies_within(const json& inner, const json& outer) {
  const double start = inner.at("ts");
  const double end = start + inner.at("dur").get<double>();
  const double outer_start = outer.at("ts");
  return start >= outer_start && end <= outer_start + outer.at("dur").get<double>();
}

TEST_F(TraceProfilerTest, TraceHoldsTheActiveBatchesWithSectionsAndOperators) {
  TraceProfiler profiler({.skip_batches = 2, .active_batches = 3});
  profiler.start(folder_);
  run_batches(profiler, 10);
  profiler.stop();

  for (const char* name : {"callbacks", "forward"}) {
    ASSERT_EQ(find(name).size(), 3u) << name;
    EXPECT_EQ(find(name)[0].at("cat"), "user_annotation");
  }
  const std::vector<json> products = find("aten::matmul");
  ASSERT_EQ(products.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const std::vector<json> steps = find("ProfilerStep#" + std::to_string(i + 2));
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_TRUE(lies_within(products[i], find("forward")[i]));
    EXPECT_TRUE(lies_within(find("forward")[i], find("callbacks")[i]));
    EXPECT_TRUE(lies_within(find("callbacks")[i], steps[0]));
  }
  EXPECT_TRUE(find("ProfilerStep#1").empty());
  EXPECT_TRUE(find("ProfilerStep#5").empty());
  EXPECT_THAT(profiler.report(), HasSubstr("Trace of 3 batches from batch 2: " + folder_.string()));
}

TEST_F(TraceProfilerTest, TraceIsWrittenAsSoonAsItIsComplete) {
  TraceProfiler profiler({.skip_batches = 0, .active_batches = 1});
  profiler.start(folder_);
  EXPECT_FALSE(has_trace());
  run_batches(profiler, 1);
  EXPECT_EQ(find("aten::matmul").size(), 1u);
  run_batches(profiler, 1);
  profiler.stop();
  EXPECT_EQ(find("aten::matmul").size(), 1u);
}

TEST_F(TraceProfilerTest, FitThatEndsEarlyLeavesWhatItHasGot) {
  TraceProfiler profiler({.skip_batches = 1, .active_batches = 10});
  profiler.start(folder_);
  run_batches(profiler, 3);
  profiler.stop();
  EXPECT_EQ(find("forward").size(), 2u);
  EXPECT_THAT(profiler.report(),
              HasSubstr("Trace of 2 batches from batch 1 (the fit ended before the 10 of active_batches)"));
}

TEST_F(TraceProfilerTest, FitShorterThanTheSkipSaysSoAndWritesNothing) {
  TraceProfiler profiler({.skip_batches = 5});
  profiler.start(folder_);
  run_batches(profiler, 3);
  profiler.stop();
  EXPECT_FALSE(has_trace());
  EXPECT_EQ(profiler.report(),
            "Trace: none, since the fit had 3 batches and skip_batches is 5. "
            "Lower skip_batches, or train for longer.\n");
}

TEST_F(TraceProfilerTest, RunWithoutAFolderIsNotTraced) {
  TraceProfiler profiler({.skip_batches = 0});
  profiler.start("");
  run_batches(profiler, 2);
  profiler.stop();
  EXPECT_EQ(profiler.report(), "Trace: none, since this run keeps no files.\n");
}

TEST_F(TraceProfilerTest, OptionsAddShapesFlopsAndMemory) {
  TraceProfiler profiler(
      {.skip_batches = 0, .active_batches = 1, .record_shapes = true, .with_memory = true, .with_flops = true});
  profiler.start(folder_);
  run_batches(profiler, 1);
  profiler.stop();
  const json product = find("aten::mm").at(0);
  EXPECT_EQ(product.at("args").at("Input Dims").dump(), "[[3,4],[4,5]]");
  EXPECT_THAT(profiler.report(), HasSubstr("1.2e-07 GFLOP a batch"));  // 2 * 3 * 4 * 5 operations
  const json all = events();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const json& e) { return e.value("name", "") == "[memory]"; }));
}

TEST_F(TraceProfilerTest, SectionThatIsOpenWhenTheRecordingStartsIsLeftOut) {
  TraceProfiler profiler({.skip_batches = 1, .active_batches = 1});
  profiler.start(folder_);
  profiler.begin(Section::kValidation);
  profiler.end_batch();
  run_batches(profiler, 1);
  profiler.end(Section::kValidation);
  profiler.stop();
  EXPECT_TRUE(find("validation").empty());
  EXPECT_EQ(find("forward").size(), 1u);
}

TEST_F(TraceProfilerTest, FolderThatCannotBeWrittenIsAnError) {
  TraceProfiler profiler({.skip_batches = 0, .active_batches = 1});
  profiler.start(folder_ / "missing");
  EXPECT_THROW(run_batches(profiler, 1), OutputError);
  profiler.stop();
}

TEST_F(TraceProfilerTest, ProfilerThatIsDestroyedWhileItRecordsMakesWayForTheNext) {
  {
    TraceProfiler profiler({.skip_batches = 0});
    profiler.start(folder_);
    run_batches(profiler, 1);
  }
  EXPECT_FALSE(has_trace());
  TraceProfiler next({.skip_batches = 0, .active_batches = 1});
  next.start(folder_);
  run_batches(next, 1);
  EXPECT_EQ(find("forward").size(), 1u);
}

TEST_F(TraceProfilerTest, SecondRecorderIsAnError) {
  TraceProfiler first({.skip_batches = 0});
  first.start(folder_);
  TraceProfiler second({.skip_batches = 0});
  EXPECT_THROW(second.start(folder_), ConfigError);
  first.stop();
}

TEST_F(TraceProfilerTest, OptionsOutOfRangeAreAllNamed) {
  try {
    TraceProfiler profiler({.skip_batches = -1, .active_batches = 0});
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("skip_batches must be >= 0, got -1"));
    EXPECT_THAT(error.what(), HasSubstr("active_batches must be >= 1, got 0"));
  }
}

}  // namespace
}  // namespace levin
