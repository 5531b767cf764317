#include "trainer/find_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

class FindCheckpointTest : public testing::Test {
 protected:
  fs::path checkpoints(int version) const {
    return root_.path() / "runs" / "e" / ("version_" + std::to_string(version)) / "checkpoints";
  }
  void make(int version, const char* folder, const char* link) const {
    fs::create_directories(checkpoints(version) / folder);
    fs::create_directory_symlink(folder, checkpoints(version) / link);
  }
  fs::path find(const std::string& name) const { return find_checkpoint(name, root_.path(), "e"); }
  std::string error_of(const std::string& name) const {
    try {
      find(name);
    } catch (const CheckpointError& error) {
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

  TestFolder root_;
};

TEST_F(FindCheckpointTest, APathIsTakenAsItIs) {
  make(0, "epoch=0", "last");
  EXPECT_EQ(find(checkpoints(0) / "epoch=0"), checkpoints(0) / "epoch=0");
}

TEST_F(FindCheckpointTest, ALinkIsFollowedToTheFolder) {
  make(0, "epoch=0", "last");
  make(0, "epoch=1", "best");
  EXPECT_EQ(find("last"), checkpoints(0) / "epoch=0");
  EXPECT_EQ(find("best"), checkpoints(0) / "epoch=1");
}

TEST_F(FindCheckpointTest, TheNewestRunThatHasOneCounts) {
  make(2, "old", "last");
  make(10, "new", "last");
  fs::create_directories(checkpoints(11));
  EXPECT_EQ(find("last"), checkpoints(10) / "new");
}

TEST_F(FindCheckpointTest, ALinkToNothingIsPassedOver) {
  make(0, "old", "last");
  make(1, "gone", "last");
  fs::remove(checkpoints(1) / "gone");
  EXPECT_EQ(find("last"), checkpoints(0) / "old");
}

TEST_F(FindCheckpointTest, AMissingOneIsAnErrorThatSaysWhereItLooked) {
  make(0, "epoch=0", "last");
  EXPECT_THAT(error_of("best"), testing::AllOf(testing::HasSubstr((root_ / "runs/e").string()),
                                               testing::HasSubstr("\"best\""), testing::HasSubstr("--checkpoint")));
  EXPECT_THAT(error_of((root_ / "nowhere").string()), testing::HasSubstr((root_ / "nowhere").string()));
}

}  // namespace
}  // namespace levin
