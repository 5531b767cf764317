// The folders, links and saved state of ModelCheckpoint.
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "callbacks/model_checkpoint.h"
#include "tests/callbacks/model_checkpoint_fixture.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

using ModelCheckpointFilesTest = ModelCheckpointTest;

// Collects warnings instead of showing them.
class Warnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }

  std::vector<std::string> texts;

 private:
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

TEST_F(ModelCheckpointFilesTest, NewFolderIsThereBeforeTheOldOneGoes) {
  start({.filename = "{epoch}"});
  std::vector<Names> before_each_save;
  run_.control.before_save = [&](const fs::path&) { before_each_save.push_back(folders()); };
  for (int i = 0; i < 3; ++i) epoch(1);
  EXPECT_EQ(before_each_save, std::vector<Names>({{}, {"epoch=0"}, {"epoch=1"}}));
  EXPECT_EQ(folders(), Names({"epoch=2"}));
}

TEST_F(ModelCheckpointFilesTest, FailedSaveEndsTheRunAndLeavesTheFoldersAsTheyWere) {
  start({.monitor = "val", .filename = "{epoch}"});
  epoch(1, 2.0);
  epoch(0);
  run_.control.before_save = [](const fs::path&) { throw CheckpointError("disk full"); };
  EXPECT_THROW(epoch(1, 1.0), CheckpointError);
  EXPECT_EQ(folders(), Names({"epoch=0"}));
  EXPECT_EQ(link("best"), "epoch=0");
  EXPECT_EQ(link("last"), "epoch=0");
}

// Field case B16: with "continue", a save that failed has never been.
TEST_F(ModelCheckpointFilesTest, RunThatGoesOnAfterAFailedSaveKnowsOnlyWhatIsThere) {
  start({.monitor = "val", .filename = "{epoch}", .on_save_error = "continue"});
  epoch(1, 2.0);
  run_.control.before_save = [](const fs::path&) { throw CheckpointError("disk full"); };
  epoch(1, 1.0);
  run_.control.before_save = nullptr;
  epoch(1, 1.5);  // worse than the one that failed, better than the one that is there
  end();
  EXPECT_TRUE(run_.control.save_options.back().continue_on_error);
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0", "epoch=2"}));
  EXPECT_EQ(folders(), Names({"epoch=2"}));
  EXPECT_EQ(link("best"), "epoch=2");
  EXPECT_EQ(checkpoint_->best_model_score(), 1.5);
}

TEST_F(ModelCheckpointFilesTest, LastSaveThatFailedIsNeitherBestNorLast) {
  start({.monitor = "val", .filename = "{epoch}", .on_save_error = "continue"});
  epoch(1, 2.0);
  run_.control.before_save = [](const fs::path&) { throw CheckpointError("disk full"); };
  epoch(1, 1.0);
  end();
  EXPECT_EQ(checkpoint_->best_model_path(), dir() / "epoch=0");
  EXPECT_EQ(checkpoint_->last_model_path(), dir() / "epoch=0");
  EXPECT_EQ(checkpoint_->best_model_score(), 2.0);
}

// The folder is written in the background: until it is there, links say what they said.
TEST_F(ModelCheckpointFilesTest, LinksMoveOnceTheCheckpointIsComplete) {
  start({.save_top_k = -1, .every_n_train_steps = 1, .filename = "{step}"});
  checkpoint_->on_train_epoch_start(train());
  step();
  ++run_.state.global_step;
  checkpoint_->on_train_batch_end(train(), StepOutput::skip(), Batch());
  EXPECT_EQ(link("last"), "step=1");
  checkpoint_->on_train_batch_end(train(), StepOutput::skip(), Batch());
  EXPECT_EQ(link("last"), "step=1");
  write();
  checkpoint_->on_train_batch_end(train(), StepOutput::skip(), Batch());
  EXPECT_EQ(link("last"), "step=2");
  EXPECT_EQ(link("best"), "step=2");
}

// The writer moves them before it removes what the new one replaces.
TEST_F(ModelCheckpointFilesTest, LoopIsToldWhichLinksToMove) {
  start({.monitor = "val", .filename = "{epoch}"});
  epoch(1, 1.0);
  epoch(1, 2.0);
  ASSERT_EQ(run_.control.save_options.size(), 2u);
  const std::vector<LinkTarget>& links = run_.control.save_options[1].links;
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].link, dir() / "last");
  EXPECT_EQ(links[0].target, "epoch=1");
  EXPECT_EQ(links[1].link, dir() / "best");
  EXPECT_EQ(links[1].target, "epoch=0");
}

// Saves of one hook are written after it, so that the second does not find the first on the disk yet.
TEST_F(ModelCheckpointFilesTest, TwoOfOneFolderDoNotTakeEachOthersNames) {
  start({.monitor = "val", .filename = "model"});
  ModelCheckpoint second({.monitor = "val", .mode = "max", .filename = "model"});
  second.on_train_start(train());
  for (const double value : {1.0, 2.0, 0.5}) {
    ++run_.state.global_step;
    run_.evaluation_store.log("val", value, {}, 1.0);
    run_.metrics.set("val", value);
    for (ModelCheckpoint* callback : {checkpoint_.get(), &second}) {
      callback->on_validation_start(validate());
      callback->on_validation_end(validate());
    }
    run_.control.write_checkpoints();
  }
  EXPECT_EQ(checkpoint_->best_model_score(), 0.5);
  EXPECT_EQ(second.best_model_score(), 2.0);
  const std::set<fs::path> all = {checkpoint_->best_model_path(), second.best_model_path(), second.last_model_path()};
  EXPECT_EQ(all.size(), 3u);
  for (const fs::path& path : all) EXPECT_TRUE(fs::is_directory(path)) << path;
  EXPECT_EQ(fs::canonical(dir() / "best"), fs::canonical(checkpoint_->best_model_path()));  // that of the first
  EXPECT_EQ(fs::canonical(dir() / "last"), fs::canonical(second.last_model_path()));
}

TEST_F(ModelCheckpointFilesTest, LoopIsToldWhatTheNewOneReplaces) {
  start({.filename = "{epoch}", .save_weights_only = true});
  epoch(1);
  epoch(1);
  EXPECT_TRUE(run_.control.save_options[0].replaces.empty());
  EXPECT_EQ(run_.control.save_options[1].replaces, std::vector<fs::path>({dir() / "epoch=0"}));
  EXPECT_TRUE(run_.control.save_options[1].weights_only);
  EXPECT_FALSE(run_.control.save_options[1].continue_on_error);
}

TEST_F(ModelCheckpointFilesTest, NameOfOurOwnThatGoesIsTakenOver) {
  start({.filename = "model"});
  for (int i = 0; i < 3; ++i) epoch(1);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"model", "model", "model"}));
  EXPECT_EQ(folders(), Names({"model"}));
  EXPECT_EQ(link("last"), "model");
  for (const SaveOptions& options : run_.control.save_options) EXPECT_TRUE(options.replaces.empty());
}

TEST_F(ModelCheckpointFilesTest, NameOfTheBestIsNotTakenOverByTheLast) {
  start({.monitor = "val", .filename = "model"});
  epoch(1, 1.0);
  epoch(1, 2.0);
  epoch(1, 3.0);
  EXPECT_EQ(saved(), std::vector<std::string>({"model", "model-v1", "model-v1"}));
  epoch(1, 0.5);  // the best and the last at once
  EXPECT_EQ(folders(), Names({"model"}));
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
  end();
  EXPECT_TRUE(fs::exists(elsewhere / "last"));
}

TEST_F(ModelCheckpointFilesTest, CheckpointHoldsTheStateWithItselfInIt) {
  start({.monitor = "val", .filename = "{epoch}"});
  epoch(1, 2.0);
  EXPECT_EQ(state_.text("best_model_path"), (dir() / "epoch=0").string());
  EXPECT_EQ(state_.real("best_model_score"), 2.0);
  EXPECT_EQ(state_.text("last"), "epoch=0");
}

TEST_F(ModelCheckpointFilesTest, LoadedStateGoesOnWithTheSameFolders) {
  const ModelCheckpoint::Options options = {.monitor = "val", .filename = "{epoch}"};
  start(options);
  epoch(1, 2.0);
  epoch(1, 3.0);
  resume(options, state_);  // from epoch=1, which stays
  EXPECT_EQ(checkpoint_->best_model_score(), 2.0);
  EXPECT_EQ(checkpoint_->last_model_path(), dir() / "epoch=1");
  EXPECT_EQ(checkpoint_->best_k_models().size(), 1U);
  epoch(1, 2.5);
  EXPECT_EQ(folders(), Names({"epoch=0", "epoch=1", "epoch=2"}));
  epoch(1, 1.0);
  end();
  EXPECT_EQ(folders(), Names({"epoch=1", "epoch=3"}));
  EXPECT_EQ(link("best"), "epoch=3");
  EXPECT_EQ(link("last"), "epoch=3");
}

// The next fit that is resumed removes what this one had to leave.
TEST_F(ModelCheckpointFilesTest, FolderOfAnOlderResumeGoesInTheEnd) {
  start({.filename = "{epoch}"});
  epoch(1);
  resume({.filename = "{epoch}"}, state_);
  epoch(1);
  EXPECT_EQ(folders(), Names({"epoch=0", "epoch=1"}));
  resume({.filename = "{epoch}"}, state_);
  epoch(1);
  EXPECT_EQ(folders(), Names({"epoch=1", "epoch=2"}));
}

// Killed between saving epoch 1 and removing epoch 0.
TEST_F(ModelCheckpointFilesTest, LoadedStateRemovesWhatAKillHasLeft) {
  start({.filename = "{epoch}"});
  epoch(1);
  epoch(1);
  fs::create_directories(dir() / "epoch=0");
  resume({.filename = "{epoch}"}, state_);
  epoch(1);
  EXPECT_EQ(folders(), Names({"epoch=1", "epoch=2"}));
}

TEST_F(ModelCheckpointFilesTest, StateOfAMovedRunRemovesNothingAndSaysSo) {
  start({.filename = "{epoch}"});
  epoch(1);
  const fs::path old_folder = dir() / "epoch=0";
  const TemporaryFolder other;
  run_.run_dir = other.path;
  Warnings warnings;
  resume({.filename = "{epoch}"}, state_);
  ASSERT_EQ(warnings.texts.size(), 1U);
  EXPECT_NE(warnings.texts[0].find(dir().string()), std::string::npos) << warnings.texts[0];
  EXPECT_NE(warnings.texts[0].find((other.path / "checkpoints").string()), std::string::npos) << warnings.texts[0];
  EXPECT_EQ(checkpoint_->best_model_path(), old_folder);
  epoch(1);
  EXPECT_TRUE(fs::exists(old_folder));
  EXPECT_EQ(checkpoint_->best_model_path(), other.path / "checkpoints" / "epoch=1");
}

TEST_F(ModelCheckpointFilesTest, ScoresOfAnotherMetricAreNotCompared) {
  start({.monitor = "val", .filename = "{epoch}"});
  epoch(1, 0.1);
  resume({.monitor = "val", .mode = "max", .filename = "{epoch}"}, state_);
  epoch(1, 0.05);
  EXPECT_EQ(checkpoint_->best_model_score(), 0.05);
}

TEST_F(ModelCheckpointFilesTest, ResumedStepIsNotSavedAgain) {
  start({});
  epoch(1);
  resume({}, state_);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-step=1"}));
}

TEST_F(ModelCheckpointFilesTest, LinkThatIsAFolderIsAnError) {
  fs::create_directories(dir() / "last");
  std::ofstream(dir() / "last" / "file") << "x";
  start({});
  EXPECT_THROW(epoch(1), CheckpointError);
  EXPECT_TRUE(fs::exists(dir() / "last" / "file"));
}

TEST_F(ModelCheckpointFilesTest, ExceptionSavesWhatThereIsAndRemovesNothing) {
  start({.filename = "{epoch}", .save_on_exception = true});
  epoch(1);
  checkpoint_->on_train_epoch_start(train());
  step();
  checkpoint_->on_exception(train(), std::runtime_error("out of data"));
  write();
  checkpoint_->teardown(train());
  EXPECT_EQ(folders(), Names({"epoch=0", "on_exception"}));
  EXPECT_EQ(link("last"), "on_exception");
  EXPECT_EQ(link("best"), "epoch=0");
}

TEST_F(ModelCheckpointFilesTest, ExceptionSavesNothingByDefault) {
  start({.filename = "{epoch}"});
  epoch(1);
  step();
  checkpoint_->on_exception(train(), std::runtime_error("out of data"));
  write();
  EXPECT_EQ(folders(), Names({"epoch=0"}));
}

}  // namespace
}  // namespace levin
