#include "callbacks/model_checkpoint.h"

#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <limits>
#include <set>

#include "tests/callbacks/fake_run.h"
#include "trainer/core/batch.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

// Plays the loop by hand: `epoch()` trains some steps and, where a value is given, validates.
class ModelCheckpointTest : public testing::Test {
 protected:
  ModelCheckpointTest() { run_.run_dir = folder_.path; }

  fs::path dir() const { return folder_.path / "checkpoints"; }

  void start(const ModelCheckpoint::Options& options) {
    checkpoint_ = std::make_unique<ModelCheckpoint>(options);
    checkpoint_->on_train_start(train());
  }
  RunContext train() { return run_.context(Stage::kTrain); }
  RunContext validate() { return run_.context(Stage::kValidate); }

  void step() {
    ++run_.state.global_step;
    checkpoint_->on_train_batch_end(train(), StepOutput::skip(), Batch());
  }
  void validation(double value) {
    checkpoint_->on_validation_start(validate());
    run_.evaluation_store.reset_epoch();
    run_.evaluation_store.log("val", value, {}, 1.0);
    run_.metrics.set("val", value);
    checkpoint_->on_validation_end(validate());
  }
  void epoch(int64_t num_steps, std::optional<double> value = std::nullopt) {
    checkpoint_->on_train_epoch_start(train());
    for (int64_t i = 0; i < num_steps; ++i) step();
    if (value) validation(*value);
    checkpoint_->on_train_epoch_end(train());
    ++run_.state.epoch;
  }
  void end() { checkpoint_->on_train_end(train()); }

  // Folders in the folder of the checkpoints, without links.
  Names folders() const {
    Names names;
    if (!fs::exists(dir())) return names;
    for (const auto& entry : fs::directory_iterator(dir())) {
      if (!entry.is_symlink()) names.insert(entry.path().filename());
    }
    return names;
  }
  // All that was ever saved.
  std::vector<std::string> saved() const {
    std::vector<std::string> names;
    for (const fs::path& path : run_.control.saved) names.push_back(path.filename());
    return names;
  }
  std::string link(const char* name) const {
    return fs::is_symlink(dir() / name) ? fs::read_symlink(dir() / name).string() : "";
  }

  TemporaryFolder folder_;
  FakeRun run_;
  std::unique_ptr<ModelCheckpoint> checkpoint_;
};

TEST_F(ModelCheckpointTest, DefaultKeepsTheNewestAndLinksToIt) {
  start({});
  epoch(3);
  epoch(3);
  end();
  EXPECT_EQ(folders(), Names({"epoch=1-step=6"}));
  EXPECT_EQ(link("last"), "epoch=1-step=6");
  EXPECT_EQ(link("best"), "epoch=1-step=6");
  EXPECT_EQ(checkpoint_->best_model_path(), dir() / "epoch=1-step=6");
  EXPECT_EQ(checkpoint_->last_model_path(), dir() / "epoch=1-step=6");
  EXPECT_EQ(checkpoint_->best_model_score(), std::nullopt);
}

TEST_F(ModelCheckpointTest, BestAndLastAreKeptBesideEachOther) {
  start({.monitor = "val", .mode = "max"});
  for (const double value : {0.3, 0.2, 0.1}) epoch(1, value);
  end();
  EXPECT_EQ(folders(), Names({"epoch=0-step=1", "epoch=2-step=3"}));
  EXPECT_EQ(link("best"), "epoch=0-step=1");
  EXPECT_EQ(link("last"), "epoch=2-step=3");
  EXPECT_EQ(checkpoint_->best_model_score(), 0.3);
}

struct Case {
  const char* what;
  const char* mode;
  int64_t save_top_k;
  std::vector<double> values;  // of the epochs 0, 1, ..., one step each
  Names kept;
};

TEST_F(ModelCheckpointTest, ScoresDecideWhichFoldersStay) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Case> cases = {
      {"min", "min", 1, {3.0, 1.0, 2.0}, {"epoch=1"}},
      {"max", "max", 1, {3.0, 1.0, 2.0}, {"epoch=0"}},
      {"two", "max", 2, {1.0, 3.0, 2.0}, {"epoch=1", "epoch=2"}},
      {"tie", "max", 1, {1.0, 1.0}, {"epoch=0"}},
      {"nan", "min", 1, {nan, 5.0, nan}, {"epoch=1"}},
      {"all", "min", -1, {1.0, nan, 3.0}, {"epoch=0", "epoch=1", "epoch=2"}},
      {"none", "min", 0, {1.0, 2.0}, {}},
  };
  for (const Case& c : cases) {
    fs::remove_all(dir());
    run_.state = {};
    start({.monitor = "val", .mode = c.mode, .save_top_k = c.save_top_k, .save_last = false, .filename = "{epoch}"});
    for (const double value : c.values) epoch(1, value);
    end();
    EXPECT_EQ(folders(), c.kept) << c.what;
    EXPECT_EQ(link("last"), "") << c.what;
  }
}

TEST_F(ModelCheckpointTest, NanIsNeverTheBest) {
  start({.monitor = "val", .save_last = false});
  epoch(1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(folders(), Names({"epoch=0-step=1"}));
  EXPECT_EQ(link("best"), "");
  EXPECT_EQ(checkpoint_->best_model_path(), "");
  EXPECT_EQ(checkpoint_->best_model_score(), std::nullopt);
}

// Field case B21.
TEST_F(ModelCheckpointTest, StepCheckWaitsForTheValidationThatFollows) {
  start({.monitor = "val", .save_last = false, .every_n_train_steps = 10, .filename = "{step}"});
  checkpoint_->on_train_epoch_start(train());
  for (const double value : {3.0, 1.0, 2.0}) {
    for (int i = 0; i < 10; ++i) step();
    validation(value);
  }
  EXPECT_EQ(folders(), Names({"step=20"}));
  EXPECT_EQ(checkpoint_->best_model_score(), 1.0);
  EXPECT_EQ(saved(), std::vector<std::string>({"step=10", "step=20"}));
}

// Field case B21.
TEST_F(ModelCheckpointTest, StepsCountOverEpochBorders) {
  start({.save_top_k = -1, .save_last = false, .every_n_train_steps = 7, .filename = "{step}"});
  for (int i = 0; i < 3; ++i) epoch(5);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"step=7", "step=14"}));
}

// Validation in the epochs 1 and 3 only: no check in between may take the old value.
TEST_F(ModelCheckpointTest, EpochWithoutValidationIsNotRankedByAnOldValue) {
  start({.monitor = "val", .save_top_k = -1, .save_last = false, .filename = "{epoch}"});
  epoch(1);
  epoch(1, 2.0);
  epoch(1);
  epoch(1, 3.0);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=1", "epoch=3"}));
}

TEST_F(ModelCheckpointTest, EpochMetricOfTrainingIsCheckedWhenTheEpochEnds) {
  start({.monitor = "train_loss", .save_last = false, .filename = "{train_loss}"});
  for (const double value : {3.0, 1.0}) {
    checkpoint_->on_train_epoch_start(train());
    step();
    validation(9.0);
    run_.metrics.set("train_loss", value);
    checkpoint_->on_train_epoch_end(train());
    ++run_.state.epoch;
  }
  EXPECT_EQ(saved(), std::vector<std::string>({"train_loss=3", "train_loss=1"}));
  EXPECT_EQ(checkpoint_->best_model_score(), 1.0);
}

TEST_F(ModelCheckpointTest, StepMetricOfTrainingIsCheckedAtItsStep) {
  start({.monitor = "train_loss", .save_last = false, .every_n_train_steps = 2, .filename = "{step}"});
  run_.train_store.log("train_loss", 1.0, {}, 1.0);
  run_.metrics.set("train_loss", 1.0);
  checkpoint_->on_train_epoch_start(train());
  step();
  step();
  EXPECT_EQ(saved(), std::vector<std::string>({"step=2"}));
}

TEST_F(ModelCheckpointTest, MicroBatchesBetweenStepsSaveNothing) {
  start({.save_top_k = -1, .every_n_train_steps = 1, .filename = "{step}"});
  checkpoint_->on_train_epoch_start(train());
  checkpoint_->on_train_batch_end(train(), StepOutput::skip(), Batch());
  EXPECT_EQ(saved(), std::vector<std::string>());
  step();
  checkpoint_->on_train_batch_end(train(), StepOutput::skip(), Batch());
  EXPECT_EQ(saved(), std::vector<std::string>({"step=1"}));
}

TEST_F(ModelCheckpointTest, EveryNEpochsSkipsEpochsAndTheEndSavesTheFinalState) {
  start({.save_top_k = -1, .every_n_epochs = 2, .filename = "{epoch}"});
  for (int i = 0; i < 3; ++i) epoch(1);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=1", "epoch=2"}));
  EXPECT_EQ(link("last"), "epoch=2");
}

TEST_F(ModelCheckpointTest, FinalStateIsLastAndHasNoScore) {
  start({.monitor = "val", .mode = "max", .every_n_epochs = 2, .filename = "{epoch}"});
  epoch(1, 0.9);
  epoch(1, 0.5);
  epoch(1, 0.7);
  end();
  EXPECT_EQ(folders(), Names({"epoch=1", "epoch=2"}));
  EXPECT_EQ(link("best"), "epoch=1");
  EXPECT_EQ(link("last"), "epoch=2");
}

TEST_F(ModelCheckpointTest, OneGlobalStepIsSavedOnce) {
  start({});
  epoch(2, 1.0);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-step=2"}));
}

TEST_F(ModelCheckpointTest, FitWithoutAStepSavesNothing) {
  start({});
  epoch(0, 1.0);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>());
}

TEST_F(ModelCheckpointTest, ValidationOutsideAFitSavesNothing) {
  start({});
  epoch(1);
  end();
  ++run_.state.global_step;
  validation(1.0);
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-step=1"}));
}

TEST_F(ModelCheckpointTest, NewFolderIsThereBeforeTheOldOneGoes) {
  start({.filename = "{epoch}"});
  std::vector<Names> before_each_save;
  run_.control.before_save = [&](const fs::path&) { before_each_save.push_back(folders()); };
  for (int i = 0; i < 3; ++i) epoch(1);
  EXPECT_EQ(before_each_save, std::vector<Names>({{}, {"epoch=0"}, {"epoch=1"}}));
  EXPECT_EQ(folders(), Names({"epoch=2"}));
}

TEST_F(ModelCheckpointTest, FailedSaveLeavesEverythingAsItWas) {
  start({.monitor = "val", .filename = "{epoch}"});
  epoch(1, 2.0);
  run_.control.before_save = [](const fs::path&) { throw CheckpointError("disk full"); };
  EXPECT_THROW(epoch(1, 1.0), CheckpointError);
  EXPECT_EQ(folders(), Names({"epoch=0"}));
  EXPECT_EQ(link("best"), "epoch=0");
  EXPECT_EQ(checkpoint_->best_model_score(), 2.0);
  EXPECT_EQ(checkpoint_->last_model_path(), dir() / "epoch=0");
}

TEST_F(ModelCheckpointTest, ForeignFoldersStayAndAreNotOverwritten) {
  fs::create_directories(dir() / "epoch=0");
  fs::create_directories(dir() / "epoch=0-v1");
  fs::create_directories(dir() / "other");
  start({.filename = "{epoch}"});
  epoch(1);
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-v2"}));
  epoch(1);
  EXPECT_EQ(folders(), Names({"epoch=0", "epoch=0-v1", "other", "epoch=1"}));
}

TEST_F(ModelCheckpointTest, NameWithoutFieldsIsNumbered) {
  start({.save_top_k = -1, .filename = "model"});
  for (int i = 0; i < 3; ++i) epoch(1);
  EXPECT_EQ(folders(), Names({"model", "model-v1", "model-v2"}));
}

TEST_F(ModelCheckpointTest, FolderMayBeGiven) {
  const fs::path elsewhere = folder_.path / "elsewhere";
  start({.dirpath = elsewhere.string()});
  epoch(1);
  EXPECT_EQ(checkpoint_->best_model_path(), elsewhere / "epoch=0-step=1");
  EXPECT_TRUE(fs::exists(elsewhere / "last"));
}

TEST_F(ModelCheckpointTest, CheckpointHoldsTheStateWithItselfInIt) {
  start({.monitor = "val", .filename = "{epoch}"});
  StateDict state;
  run_.control.before_save = [&](const fs::path&) { state = checkpoint_->state(); };
  epoch(1, 2.0);
  EXPECT_EQ(state.text("best_model_path"), (dir() / "epoch=0").string());
  EXPECT_EQ(state.real("best_model_score"), 2.0);
  EXPECT_EQ(state.text("last"), "epoch=0");
}

TEST_F(ModelCheckpointTest, LoadedStateGoesOnWithTheSameFolders) {
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
TEST_F(ModelCheckpointTest, LoadedStateDeletesWhatAKillHasLeft) {
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

TEST_F(ModelCheckpointTest, StateOfAnotherFolderDeletesNothingThere) {
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

TEST_F(ModelCheckpointTest, ResumedStepIsNotSavedAgain) {
  start({});
  epoch(1);
  const StateDict state = checkpoint_->state();
  start({});
  checkpoint_->load_state(state);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-step=1"}));
}

TEST_F(ModelCheckpointTest, MissingMetricIsNamedWithThoseThatAreThere) {
  start({.monitor = "vall"});
  run_.metrics.set("train_loss", 1.0);
  try {
    epoch(1, 2.0);
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "[ModelCheckpoint] monitor is \"vall\", but no such metric was logged. There are: train_loss, val. "
                 "Log it, or set monitor to one of these.");
  }
}

// Without any validation it may still come, until the fit ends. The weights are saved first.
TEST_F(ModelCheckpointTest, MetricThatNeverComesIsAnErrorAtTheEnd) {
  start({.monitor = "val"});
  epoch(1);
  EXPECT_THROW(end(), ConfigError);
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-step=1"}));
}

TEST_F(ModelCheckpointTest, RunWithoutFilesNeedsAFolder) {
  run_.run_dir.clear();
  EXPECT_THROW(start({}), ConfigError);
}

TEST_F(ModelCheckpointTest, LinkThatIsAFolderIsAnError) {
  fs::create_directories(dir() / "last");
  std::ofstream(dir() / "last" / "file") << "x";
  start({});
  EXPECT_THROW(epoch(1), CheckpointError);
}

// Rank 1 of 2: takes rank 0's values from a list.
class RankOne final : public Communicator {
 public:
  int64_t rank() const override { return 1; }
  int64_t world_size() const override { return 2; }
  void all_reduce(at::Tensor& /*tensor*/, ReduceOp /*op*/) override {}
  void broadcast(at::Tensor& tensor, int64_t source) override {
    EXPECT_EQ(source, 0);
    ASSERT_FALSE(values.empty());
    ASSERT_EQ(tensor.numel(), static_cast<int64_t>(values.front().size()));
    std::copy(values.front().begin(), values.front().end(), tensor.mutable_data_ptr<double>());
    values.pop_front();
  }
  void barrier() override {}

  std::deque<std::vector<double>> values;
};

// Rank 0 sees 5, then 7, and has found "epoch=0" taken; rank 1 sees 5, then 1.
TEST_F(ModelCheckpointTest, RankOneFollowsRankZeroAndTouchesNoFiles) {
  RankOne rank_one;
  rank_one.values = {{1.0, 5.0, 1.0}, {1.0}, {1.0, 7.0, 1.0}};
  run_.communicator = &rank_one;
  start({.monitor = "val", .save_last = false, .filename = "{epoch}"});
  epoch(1, 5.0);
  epoch(1, 1.0);
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-v1"}));
  EXPECT_EQ(link("best"), "");
  EXPECT_TRUE(rank_one.values.empty());
}

TEST(ModelCheckpointOptionsTest, WrongOptionsAreAllNamed) {
  try {
    ModelCheckpoint checkpoint({.mode = "up", .save_top_k = -2});
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "[ModelCheckpoint] mode must be one of: min, max, got up; save_top_k must be >= -1, got -2.");
  }
  try {
    ModelCheckpoint checkpoint({.save_top_k = 3, .filename = "{epoch"});
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "[ModelCheckpoint] save_top_k is 3, which needs a monitor; without one it must be -1, 0 or 1; filename "
        "\"{epoch\" has a { without a }.");
  }
}

TEST(ModelCheckpointOptionsTest, RunsLast) { EXPECT_TRUE(ModelCheckpoint().runs_last()); }

}  // namespace
}  // namespace levin
