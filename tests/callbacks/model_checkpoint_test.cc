#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>

#include "callbacks/model_checkpoint.h"
#include "callbacks/rank_agreement.h"
#include "tests/callbacks/model_checkpoint_fixture.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

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
    run_.control.owners.clear();  // each is a fit of its own
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
    write();
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

TEST_F(ModelCheckpointTest, MissingMetricIsNamedWithThoseThatAreThere) {
  start({.monitor = "vall"});
  run_.metrics.set("train_loss", 1.0);
  try {
    epoch(1, 2.0);
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "[ModelCheckpoint] monitor is \"vall\", but no such metric was logged; did you mean \"val\"? There are: "
        "train_loss, val. Log it, or set monitor to one of these.");
  }
}

// Without any validation it may still come, until the fit ends. The weights are saved first.
TEST_F(ModelCheckpointTest, MetricThatNeverComesIsAnErrorAtTheEnd) {
  start({.monitor = "val"});
  epoch(1);
  EXPECT_THROW(end(), ConfigError);
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-step=1"}));
}

// A trial run of 3 of 10 batches has had no time to validate; that is no mistake.
TEST_F(ModelCheckpointTest, EpochCutShortByMaxStepsMissesNoMetric) {
  start({.monitor = "val"});
  run_.num_batches = 10;
  run_.max_steps = 3;
  run_.state.batch_idx = 3;
  epoch(3);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-step=3"}));
}

TEST_F(ModelCheckpointTest, RunWithoutFilesNeedsAFolder) {
  run_.run_dir.clear();
  EXPECT_THROW(start({}), ConfigError);
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

std::vector<double> packed_text(const std::string& text) {
  std::vector<double> packed(kLongestSharedText + 1, 0.0);
  packed[0] = static_cast<double>(text.size());
  std::copy(text.begin(), text.end(), packed.begin() + 1);
  return packed;
}

// Rank 0 sees 5, then 7, and has found "epoch=0" taken; rank 1 sees 5, then 1.
TEST_F(ModelCheckpointTest, RankOneFollowsRankZeroAndTouchesNoFiles) {
  RankOne rank_one;
  const std::vector<double> is_written = {1.0};
  rank_one.values = {{1.0, 5.0, 1.0}, packed_text("epoch=0-v1"),
                     {1.0, 5.0, 0.0},  // epoch 0
                     {1.0, 7.0, 1.0}, is_written,
                     {1.0, 7.0, 0.0}};
  run_.communicator = &rank_one;
  run_.control.is_first_rank = false;
  start({.monitor = "val", .save_last = false, .filename = "{epoch}"});
  epoch(1, 5.0);
  epoch(1, 1.0);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0-v1"}));
  EXPECT_FALSE(fs::exists(dir()));
  EXPECT_EQ(checkpoint_->best_model_score(), 5.0);
  EXPECT_EQ(link("best"), "");
  EXPECT_TRUE(rank_one.values.empty());
}

// Rank 0 alone knows that the first save failed; the second, though worse, is the best of both ranks then.
TEST_F(ModelCheckpointTest, RanksAgreeAfterAFailedSave) {
  RankOne rank_one;
  const std::vector<double> failed = {0.0};
  const std::vector<double> is_written = {1.0};
  rank_one.values = {{1.0, 5.0, 1.0},
                     packed_text("epoch=0"),
                     {1.0, 5.0, 0.0},  // epoch 0
                     {1.0, 7.0, 1.0},
                     failed,
                     packed_text("epoch=1"),
                     {1.0, 7.0, 0.0},  // epoch 1
                     is_written};
  run_.communicator = &rank_one;
  start({.monitor = "val", .save_last = false, .filename = "{epoch}", .on_save_error = "continue"});
  epoch(1, 5.0);
  epoch(1, 7.0);
  end();
  EXPECT_EQ(checkpoint_->best_model_path(), dir() / "epoch=1");
  EXPECT_EQ(checkpoint_->best_model_score(), 7.0);
  EXPECT_TRUE(rank_one.values.empty());
}

TEST_F(ModelCheckpointTest, TimeDecidesWhereAnIntervalIsGiven) {
  start({.save_top_k = -1, .save_last = false, .train_time_interval = "10s", .filename = "{step}"});
  checkpoint_->on_train_epoch_start(train());
  for (int i = 0; i < 8; ++i) {
    now_s_ += 4.0;
    step();
  }
  checkpoint_->on_train_epoch_end(train());
  EXPECT_EQ(saved(), std::vector<std::string>({"step=3", "step=6"}));
}

// With validations twice an epoch, the epoch's own end brings a check only if asked for.
TEST_F(ModelCheckpointTest, SwitchDecidesWhereEpochsAreChecked) {
  const std::vector<std::pair<OptionalSwitch, std::vector<std::string>>> cases = {
      {std::nullopt, {"step=1", "step=2"}}, {false, {"step=1", "step=2"}}, {true, {"step=3"}}};
  for (const auto& [is_at_epoch_end, expected] : cases) {
    fs::remove_all(dir());
    run_.state = {};
    run_.control.saved.clear();
    start({.save_top_k = -1, .save_last = false, .save_on_train_epoch_end = is_at_epoch_end, .filename = "{step}"});
    checkpoint_->on_train_epoch_start(train());
    step();
    validation(1.0);
    step();
    validation(1.0);
    step();
    checkpoint_->on_train_epoch_end(train());
    write();
    EXPECT_EQ(saved(), expected) << is_at_epoch_end.text.value_or("unset");
  }
}

TEST_F(ModelCheckpointTest, CheckAfterValidationNeedsValidation) {
  run_.has_validation = false;
  EXPECT_THROW(start({.save_on_train_epoch_end = false}), ConfigError);
}

TEST_F(ModelCheckpointTest, LinkOnlyModeSavesNothingForTheLast) {
  start({.monitor = "val", .save_last = "link", .filename = "{epoch}"});
  for (const double value : {3.0, 1.0, 2.0}) epoch(1, value);
  end();
  EXPECT_EQ(saved(), std::vector<std::string>({"epoch=0", "epoch=1"}));
  EXPECT_EQ(link("last"), "epoch=1");
}

TEST_F(ModelCheckpointTest, LastIsRefreshedThoughTheScoreIsNotAmongTheBest) {
  start({.monitor = "val", .filename = "{epoch}"});
  epoch(1, 1.0);
  epoch(1, 2.0);
  end();
  EXPECT_EQ(link("last"), "epoch=1");
  EXPECT_EQ(link("best"), "epoch=0");
}

TEST_F(ModelCheckpointTest, SanityCheckSavesNothing) {
  start({});
  run_.is_sanity_checking = true;
  run_.state.global_step = 1;
  validation(1.0);
  EXPECT_EQ(saved(), std::vector<std::string>());
}

// The run went back from step 4 to step 2: step 4 comes again, with other weights.
TEST_F(ModelCheckpointTest, StepsThatComeAgainAreSavedAgain) {
  EXPECT_FALSE(ModelCheckpoint().goes_back());
  start({.save_last = false, .every_n_train_steps = 2, .filename = "{step}"});
  checkpoint_->on_train_epoch_start(train());
  for (int i = 0; i < 4; ++i) step();
  run_.state.global_step = 2;
  for (int i = 0; i < 2; ++i) step();
  EXPECT_EQ(saved(), std::vector<std::string>({"step=2", "step=4", "step=4"}));
  EXPECT_EQ(folders(), Names({"step=4"}));
}

TEST_F(ModelCheckpointTest, NamesMayBeLeftOutOfTheFolderName) {
  start({.monitor = "val", .save_last = false, .filename = "{epoch}-{val:.2f}", .auto_insert_metric_name = false});
  epoch(1, 0.5);
  EXPECT_EQ(saved(), std::vector<std::string>({"0-0.50"}));
}

TEST_F(ModelCheckpointTest, NameThatNoFolderCanHaveIsAnError) {
  start({.filename = std::string(300, 'a')});
  EXPECT_THROW(epoch(1), CheckpointError);
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

TEST(ModelCheckpointOptionsTest, OneTriggerIsGivenAtMost) {
  EXPECT_THROW(ModelCheckpoint({.every_n_epochs = 1, .every_n_train_steps = 5}), ConfigError);
  EXPECT_THROW(ModelCheckpoint({.every_n_train_steps = 5, .train_time_interval = "5m"}), ConfigError);
  EXPECT_THROW(ModelCheckpoint({.train_time_interval = "soon"}), ConfigError);
  EXPECT_NO_THROW(ModelCheckpoint({.every_n_epochs = 0, .every_n_train_steps = 5}));
}

TEST(ModelCheckpointOptionsTest, RunsLast) { EXPECT_TRUE(ModelCheckpoint().runs_last()); }

}  // namespace
}  // namespace levin
