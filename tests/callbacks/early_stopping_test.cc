#include "callbacks/early_stopping.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/callbacks/fake_run.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A fit that is played by hand: each epoch may validate, then ends.
class EarlyStoppingTest : public testing::Test {
 protected:
  void validate(EarlyStopping& callback, double value) {
    run.evaluation_store.log("val_loss", value, {}, 1.0);
    run.metrics.set("val_loss", value);
    callback.on_validation_end(run.context(Stage::kValidate));
  }
  void end_epoch(EarlyStopping& callback) {
    callback.on_train_epoch_end(run.context(Stage::kTrain));
    ++run.state.epoch;
  }
  // Epochs until it asks for the end; all of them if it does not.
  size_t epochs_until_stop(EarlyStopping& callback, const std::vector<double>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      validate(callback, values[i]);
      end_epoch(callback);
      if (!run.control.stop_reasons.empty()) return i + 1;
    }
    return values.size();
  }
  std::string reason() const { return run.control.stop_reasons.empty() ? "" : run.control.stop_reasons.back(); }

  EarlyStopping::Options options = {.monitor = "val_loss"};
  FakeRun run;
};

TEST_F(EarlyStoppingTest, StopsAfterPatienceChecksWithoutImprovement) {
  EarlyStopping callback(options);
  EXPECT_EQ(epochs_until_stop(callback, {3.0, 1.0, 2.0, 1.0, 1.5, 0.5}), 5u);
  EXPECT_EQ(callback.stopped_epoch(), 4);
  EXPECT_EQ(callback.wait_count(), 3);
  EXPECT_EQ(callback.best_score(), 1.0);
  EXPECT_EQ(reason(),
            "[EarlyStopping] val_loss is 1.5 and has not improved by more than 0 in 3 checks; the best value is 1.");
}

TEST_F(EarlyStoppingTest, ImprovementMustExceedMinDelta) {
  options.min_delta = 0.5;
  options.patience = 2;
  EarlyStopping callback(options);
  EXPECT_EQ(epochs_until_stop(callback, {2.0, 1.5, 1.4, 0.9, 0.9}), 5u);  // 1.4 counts, 1.5 and 0.9 do not
  EXPECT_EQ(callback.best_score(), 1.4);
}

TEST_F(EarlyStoppingTest, ModeMaxTakesGreaterForBetter) {
  options.mode = "max";
  options.min_delta = 0.25;
  options.patience = 1;
  EarlyStopping callback(options);
  EXPECT_EQ(epochs_until_stop(callback, {0.25, 0.75, 1.0}), 3u);
  EXPECT_EQ(callback.best_score(), 0.75);
}

TEST_F(EarlyStoppingTest, ThresholdsAreStrictAndLeaveTheBestAlone) {
  options.stopping_threshold = 0.5;
  options.divergence_threshold = 4.0;
  EarlyStopping good(options);
  EXPECT_EQ(epochs_until_stop(good, {4.0, 0.5, 0.25}), 3u);
  EXPECT_EQ(good.best_score(), 0.5);
  EXPECT_EQ(reason(), "[EarlyStopping] val_loss is 0.25, which is better than stopping_threshold, 0.5.");
  run.control.stop_reasons.clear();
  EarlyStopping bad(options);
  EXPECT_EQ(epochs_until_stop(bad, {4.0, 4.5}), 2u);
  EXPECT_EQ(bad.wait_count(), 0);
  EXPECT_EQ(reason(), "[EarlyStopping] val_loss is 4.5, which is worse than divergence_threshold, 4.");
}

TEST_F(EarlyStoppingTest, ValueThatIsNotFiniteStopsAtOnceUnlessItMayBe) {
  EarlyStopping checking(options);
  EXPECT_EQ(epochs_until_stop(checking, {1.0, kNan}), 2u);
  EXPECT_EQ(reason(), "[EarlyStopping] val_loss is not finite: nan.");
  run.control.stop_reasons.clear();
  options.check_finite = false;
  EarlyStopping patient(options);
  EXPECT_EQ(epochs_until_stop(patient, {kNan, kInfinity, 1.0, kNan}), 4u);
  EXPECT_EQ(reason(), "");
  EXPECT_EQ(patient.wait_count(), 1);
}

TEST_F(EarlyStoppingTest, SanityCheckAndValidationOnItsOwnDoNotCount) {
  EarlyStopping callback(options);
  run.is_sanity_checking = true;
  validate(callback, 1.0);
  run.is_sanity_checking = false;
  run.is_fitting = false;
  validate(callback, 1.0);
  EXPECT_EQ(callback.best_score(), std::nullopt);
}

TEST_F(EarlyStoppingTest, MetricOfTheTrainingIsCheckedWhenItsEpochEnds) {
  options.monitor = "train_loss";
  options.patience = 1;
  EarlyStopping callback(options);
  run.metrics.set("train_loss", 1.0);
  validate(callback, 9.0);
  EXPECT_EQ(callback.best_score(), std::nullopt);
  end_epoch(callback);
  EXPECT_EQ(callback.best_score(), 1.0);
  end_epoch(callback);
  EXPECT_EQ(callback.stopped_epoch(), 1);
}

TEST_F(EarlyStoppingTest, ValueOfOneValidationIsNotCountedTwice) {
  options.check_on_train_epoch_end = true;
  EarlyStopping callback(options);
  validate(callback, 1.0);
  EXPECT_EQ(callback.best_score(), std::nullopt);
  for (int epoch = 0; epoch < 4; ++epoch) end_epoch(callback);
  EXPECT_EQ(callback.best_score(), 1.0);
  EXPECT_EQ(callback.wait_count(), 0);
}

TEST_F(EarlyStoppingTest, MissingMetricNamesThoseThatAreThere) {
  options.monitor = "val_los";
  EarlyStopping callback(options);
  end_epoch(callback);  // no validation yet, which may bring it
  validate(callback, 1.0);
  try {
    end_epoch(callback);
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "[EarlyStopping] monitor is \"val_los\", but no such metric was logged. There are: val_loss. Log it, "
                 "set monitor to one of these, or set strict to false.");
  }
  options.strict = false;
  EarlyStopping lenient(options);
  validate(lenient, 1.0);
  EXPECT_NO_THROW(end_epoch(lenient));
  EXPECT_EQ(lenient.wait_count(), 0);
}

TEST_F(EarlyStoppingTest, CheckAfterValidationsNeedsOne) {
  options.check_on_train_epoch_end = false;
  run.has_validation = false;
  EXPECT_THROW(EarlyStopping(options).on_fit_start(run.context(Stage::kTrain)), ConfigError);
}

TEST_F(EarlyStoppingTest, ResumedRunGoesOnUnderItsNewOptions) {
  EarlyStopping before(options);
  epochs_until_stop(before, {1.0, 2.0, 2.0});
  options.patience = 5;
  EarlyStopping after(options);
  after.load_state(before.state());
  end_epoch(after);  // the old value of the validation is no new check
  EXPECT_EQ(after.wait_count(), 2);
  EXPECT_EQ(after.best_score(), 1.0);
  EXPECT_EQ(epochs_until_stop(after, {2.0, 2.0, 2.0, 2.0}), 3u);
  EXPECT_FALSE(after.goes_back());
}

// A checkpoint from after the request: where the options still say so, the end is asked for again.
TEST_F(EarlyStoppingTest, ResumedRunThatWasToEndAsksAgain) {
  options.patience = 2;
  EarlyStopping callback(options);
  EXPECT_EQ(epochs_until_stop(callback, {1.0, 2.0, 3.0}), 3u);
  const std::string first = reason();
  run.control.stop_reasons.clear();
  EarlyStopping resumed(options);
  resumed.load_state(callback.state());
  resumed.on_fit_start(run.context(Stage::kTrain));
  EXPECT_EQ(reason(), first);
  EXPECT_EQ(resumed.stopped_epoch(), 2);
  run.control.stop_reasons.clear();
  resumed.on_fit_start(run.context(Stage::kTrain));  // of a fit that is not resumed
  EXPECT_EQ(reason(), "");
}

TEST_F(EarlyStoppingTest, ResumedRunWithMorePatienceGoesOn) {
  options.patience = 2;
  EarlyStopping callback(options);
  EXPECT_EQ(epochs_until_stop(callback, {1.0, 2.0, 3.0}), 3u);
  run.control.stop_reasons.clear();
  options.patience = 3;
  EarlyStopping resumed(options);
  resumed.load_state(callback.state());
  resumed.on_fit_start(run.context(Stage::kTrain));
  EXPECT_EQ(reason(), "");
  EXPECT_EQ(resumed.stopped_epoch(), std::nullopt);
  EXPECT_EQ(epochs_until_stop(resumed, {4.0, 5.0}), 1u);
}

TEST_F(EarlyStoppingTest, ResumedRunAsksAgainForTheLimitThatItStillHas) {
  options.divergence_threshold = 5.0;
  EarlyStopping callback(options);
  EXPECT_EQ(epochs_until_stop(callback, {1.0, 6.0}), 2u);
  run.control.stop_reasons.clear();
  for (const double limit : {7.0, 5.5}) {
    options.divergence_threshold = limit;
    EarlyStopping resumed(options);
    resumed.load_state(callback.state());
    resumed.on_fit_start(run.context(Stage::kTrain));
    EXPECT_EQ(run.control.stop_reasons.size(), limit < 6.0 ? 1u : 0u) << limit;
  }
}

TEST_F(EarlyStoppingTest, OptionsThatAreWrongAreNamed) {
  EXPECT_THROW(EarlyStopping({.monitor = ""}), ConfigError);
  EXPECT_THROW(EarlyStopping({.monitor = "a", .mode = "mean"}), ConfigError);
  EXPECT_THROW(EarlyStopping({.monitor = "a", .min_delta = -1.0}), ConfigError);
  EXPECT_THROW(EarlyStopping({.monitor = "a", .patience = -1}), ConfigError);
}

// Rank 0 of two; the other rank has a value that is not finite where `is_other_bad`.
class WorldOfTwo final : public Communicator {
 public:
  int64_t rank() const override { return 0; }
  int64_t world_size() const override { return 2; }
  void all_reduce(at::Tensor& tensor, ReduceOp /*op*/) override { tensor.add_(is_other_bad ? 1.0 : 0.0); }
  void broadcast(at::Tensor& /*tensor*/, int64_t /*source*/) override {}
  void barrier() override {}
  bool is_other_bad = false;
};

TEST_F(EarlyStoppingTest, ValueThatIsNotFiniteOnAnotherRankStopsAll) {
  WorldOfTwo world;
  run.communicator = &world;
  EarlyStopping callback(options);
  validate(callback, 1.0);
  EXPECT_EQ(callback.best_score(), 1.0);
  world.is_other_bad = true;
  validate(callback, 0.5);
  EXPECT_EQ(reason(), "[EarlyStopping] val_loss is not finite: nan.");
}

}  // namespace
}  // namespace levin
