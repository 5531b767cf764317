// The folders, links and saved state of ModelCheckpoint.
#include <gtest/gtest.h>

#include <fstream>

#include "callbacks/model_checkpoint.h"
#include "tests/callbacks/model_checkpoint_fixture.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

using ModelCheckpointFilesTest = ModelCheckpointTest;

TEST_F(ModelCheckpointFilesTest, NewFolderIsThereBeforeTheOldOneGoes) {
  start({.filename = "{epoch}"});
  std::vector<Names> before_each_save;
  run_.control.before_save = [&](const fs::path&) { before_each_save.push_back(folders()); };
  for (int i = 0; i < 3; ++i) epoch(1);
  EXPECT_EQ(before_each_save, std::vector<Names>({{}, {"epoch=0"}, {"epoch=1"}}));
  EXPECT_EQ(folders(), Names({"epoch=2"}));
}

TEST_F(ModelCheckpointFilesTest, FailedSaveLeavesEverythingAsItWas) {
  start({.monitor = "val", .filename = "{epoch}"});
  epoch(1, 2.0);
  run_.control.before_save = [](const fs::path&) { throw CheckpointError("disk full"); };
  EXPECT_THROW(epoch(1, 1.0), CheckpointError);
  EXPECT_EQ(folders(), Names({"epoch=0"}));
  EXPECT_EQ(link("best"), "epoch=0");
  EXPECT_EQ(checkpoint_->best_model_score(), 2.0);
  EXPECT_EQ(checkpoint_->last_model_path(), dir() / "epoch=0");
}

TEST_F(ModelCheckpointFilesTest, ForeignFoldersStayAndAreNotOverwritten) {
  fs::create_directories(dir() / "epoch=0");
  fs::create_directories(dir() / "epoch=0-v1");
  fs::create_directories(dir() / "other");
  start({.filename = "{epoch}"});
  epoch(1);
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-v2"}));
  epoch(1);
  EXPECT_EQ(folders(), Names({"epoch=0", "epoch=0-v1", "other", "epoch=1"}));
}

TEST_F(ModelCheckpointFilesTest, NameWithoutFieldsIsNumbered) {
  start({.save_top_k = -1, .filename = "model"});
  for (int i = 0; i < 3; ++i) epoch(1);
  EXPECT_EQ(folders(), Names({"model", "model-v1", "model-v2"}));
}

TEST_F(ModelCheckpointFilesTest, FolderMayBeGiven) {
  const fs::path elsewhere = folder_.path / "elsewhere";
  start({.dirpath = elsewhere.string()});
  epoch(1);
  EXPECT_EQ(checkpoint_->best_model_path(), elsewhere / "epoch=0-step=1");
  EXPECT_TRUE(fs::exists(elsewhere / "last"));
}

TEST_F(ModelCheckpointFilesTest, CheckpointHoldsTheStateWithItselfInIt) {
  start({.monitor = "val", .filename = "{epoch}"});
  StateDict state;
  run_.control.before_save = [&](const fs::path&) { state = checkpoint_->state(); };
  epoch(1, 2.0);
  EXPECT_EQ(state.text("best_model_path"), (dir() / "epoch=0").string());
  EXPECT_EQ(state.real("best_model_score"), 2.0);
  EXPECT_EQ(state.text("last"), "epoch=0");
}

TEST_F(ModelCheckpointFilesTest, LoadedStateGoesOnWithTheSameFolders) {
  start({.monitor = "val", .filename = "{epoch}"});
  StateDict state;
  run_.control.before_save = [&](const fs::path&) { state = checkpoint_->state(); };
  epoch(1, 2.0);
  epoch(1, 3.0);
  checkpoint_ = std::make_unique<ModelCheckpoint>(ModelCheckpoint::Options{.monitor = "val", .filename = "{epoch}"});
  checkpoint_->load_state(state);
  checkpoint_->on_train_start(train());
  EXPECT_EQ(checkpoint_->best_model_score(), 2.0);
  epoch(1, 2.5);  // neither the best nor, after the next one, the last
  EXPECT_EQ(folders(), Names({"epoch=0", "epoch=2"}));
  epoch(1, 1.0);
  EXPECT_EQ(folders(), Names({"epoch=3"}));
}

// Killed between saving epoch 1 and deleting epoch 0: the run that goes on deletes it.
TEST_F(ModelCheckpointFilesTest, LoadedStateDeletesWhatAKillHasLeft) {
  start({.filename = "{epoch}"});
  StateDict state;
  run_.control.before_save = [&](const fs::path&) { state = checkpoint_->state(); };
  epoch(1);
  epoch(1);
  fs::create_directories(dir() / "epoch=0");
  start({.filename = "{epoch}"});
  checkpoint_->load_state(state);
  epoch(1);
  EXPECT_EQ(folders(), Names({"epoch=2"}));
}

TEST_F(ModelCheckpointFilesTest, StateOfAnotherFolderDeletesNothingThere) {
  start({.filename = "{epoch}"});
  epoch(1);
  const fs::path old_folder = dir() / "epoch=0";
  const StateDict state = checkpoint_->state();
  const TemporaryFolder other;
  run_.run_dir = other.path;
  checkpoint_ = std::make_unique<ModelCheckpoint>(ModelCheckpoint::Options{.filename = "{epoch}"});
  checkpoint_->load_state(state);
  checkpoint_->on_train_start(train());
  EXPECT_EQ(checkpoint_->best_model_path(), old_folder);
  epoch(1);
  EXPECT_TRUE(fs::exists(old_folder));
  EXPECT_EQ(checkpoint_->best_model_path(), other.path / "checkpoints" / "epoch=1");
}

TEST_F(ModelCheckpointFilesTest, ResumedStepIsNotSavedAgain) {
  start({});
  epoch(1);
  const StateDict state = checkpoint_->state();
  start({});
  checkpoint_->load_state(state);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-step=1"}));
}

TEST_F(ModelCheckpointFilesTest, LinkThatIsAFolderIsAnError) {
  fs::create_directories(dir() / "last");
  std::ofstream(dir() / "last" / "file") << "x";
  start({});
  EXPECT_THROW(epoch(1), CheckpointError);
}

}  // namespace
}  // namespace levin
