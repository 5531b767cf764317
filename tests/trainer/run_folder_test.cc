#include "trainer/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

// A run that has got somewhere.
fs::path kept_run(const fs::path& root, const std::string& experiment = "e") {
  RunFolder folder(root, experiment, "a: 1\n");
  folder.keep();
  return folder.path();
}

std::string error_of(const fs::path& root) {
  try {
    const RunFolder folder(root, "e", "");
  } catch (const ConfigError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(RunFolderTest, VersionsCountUp) {
  const TestFolder root;
  EXPECT_EQ(kept_run(root.path()), root / "runs/e/version_0");
  EXPECT_EQ(kept_run(root.path()), root / "runs/e/version_1");
  EXPECT_EQ(kept_run(root.path(), "other"), root / "runs/other/version_0");
  fs::create_directory(root / "runs/e/version_10");
  EXPECT_EQ(kept_run(root.path()), root / "runs/e/version_11");
}

TEST(RunFolderTest, ConfigIsWritten) {
  const TestFolder root;
  EXPECT_EQ(read_bytes(kept_run(root.path()) / "config.yaml"), "a: 1\n");
}

TEST(RunFolderTest, AFolderThatIsNotKeptGoesWithAllItMade) {
  const TestFolder root;
  {
    const RunFolder folder(root / "new/root", "e", "");
    write_bytes(folder.path() / "metrics.csv", "step\n");
    EXPECT_FALSE(folder.is_kept());
  }
  EXPECT_EQ(root.names(), std::vector<std::string>());
}

TEST(RunFolderTest, ParentsThatWereThereStay) {
  const TestFolder root;
  fs::create_directories(root / "runs");
  { const RunFolder folder(root.path(), "e", ""); }
  EXPECT_EQ(root.names(), std::vector<std::string>({"runs"}));
  EXPECT_FALSE(fs::exists(root / "runs/e"));
}

TEST(RunFolderTest, ParentsThatAnotherRunUsesStay) {
  const TestFolder root;
  fs::path other;
  {
    const RunFolder folder(root.path(), "e", "");
    other = kept_run(root.path());
    EXPECT_NE(other, folder.path());
  }
  EXPECT_TRUE(fs::exists(other / "config.yaml"));
  EXPECT_FALSE(fs::exists(root / "runs/e/version_0"));
}

TEST(RunFolderTest, RunsAtOnceGetDifferentVersions) {
  constexpr int kRuns = 8;
  const TestFolder root;
  std::vector<std::optional<fs::path>> paths(kRuns);
  std::vector<std::thread> threads;
  for (int i = 0; i < kRuns; ++i) threads.emplace_back([&, i] { paths[i] = kept_run(root.path()); });
  for (std::thread& thread : threads) thread.join();
  const std::set<std::optional<fs::path>> different(paths.begin(), paths.end());
  EXPECT_EQ(different.size(), static_cast<size_t>(kRuns));
  EXPECT_EQ(run_versions(root.path(), "e").size(), static_cast<size_t>(kRuns));
}

// Below a file no folder can be made, whoever runs the test.
TEST(RunFolderTest, UnwritableRootIsNamed) {
  const TestFolder root;
  write_bytes(root / "file", "");
  EXPECT_THAT(error_of(root / "file"), testing::AllOf(testing::HasSubstr("cannot write the run folder"),
                                                      testing::HasSubstr((root / "file/runs").string()),
                                                      testing::HasSubstr("trainer.default_root_dir")));
  write_bytes(root / "runs", "");
  EXPECT_THAT(error_of(root.path()), testing::HasSubstr((root / "runs/e").string()));
  EXPECT_EQ(root.names(), std::vector<std::string>({"file", "runs"}));
}

TEST(RunFolderTest, OnlyVersionsAreListedNewestFirst) {
  const TestFolder root;
  for (const char* name : {"version_2", "version_10", "version_x", "version_-1", "version_", "version_3a", "notes"}) {
    fs::create_directories(root.path() / "runs/e" / name);
  }
  EXPECT_EQ(run_versions(root.path(), "e"),
            std::vector<fs::path>({root / "runs/e/version_10", root / "runs/e/version_2"}));
  EXPECT_TRUE(run_versions(root.path(), "none").empty());
}

}  // namespace
}  // namespace levin
