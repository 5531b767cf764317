#include "callbacks/progress_bar.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/callbacks/fake_console.h"
#include "tests/callbacks/fake_run.h"
#include "trainer/core/batch.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr double kBatchSeconds = 0.5;

at::Tensor scalar(double value) { return at::scalar_tensor(value, at::kFloat); }

// A tensor that is not on the host; reading it throws.
at::Tensor unreadable() { return at::empty({}, at::TensorOptions(at::kMeta)); }

class ProgressBarTest : public testing::Test {
 protected:
  // Epochs of 4 batches, 2 batches a second.
  void start(bool is_terminal, const ProgressBar::Options& options = {}) {
    console_ = std::make_shared<FakeConsole>(is_terminal);
    bar_ = std::make_unique<ProgressBar>(options, console_);
    run_.num_batches = 4;
    run_.max_epochs = 3;
    bar_->on_fit_start(run_.context(Stage::kTrain));
  }
  void start_epoch(int64_t epoch) {
    run_.state.epoch = epoch;
    bar_->on_train_epoch_start(run_.context(Stage::kTrain));
  }
  void train_batch(int64_t batch_idx, const StepOutput& output) {
    console_->now += kBatchSeconds;
    run_.state.batch_idx = batch_idx;
    run_.train_store.end_step();
    bar_->on_train_batch_end(run_.context(Stage::kTrain), output, Batch());
  }
  void validation_batch(int64_t batch_idx) {
    console_->now += kBatchSeconds;
    run_.state.batch_idx = batch_idx;
    bar_->on_validation_batch_end(run_.context(Stage::kValidate), Batch());
  }
  void end_epoch() { bar_->on_train_epoch_end(run_.context(Stage::kTrain)); }

  FakeRun run_;
  std::shared_ptr<FakeConsole> console_;
  std::unique_ptr<ProgressBar> bar_;
};

// 79 columns: 9 + 2 + 27 + 11 = 49 are text, so the bar has 30; 1/4 of 30 = 7.5. Left: 3 batches at 2 a second.
TEST_F(ProgressBarTest, TerminalLineIsDrawnInPlace) {
  start(true);
  start_epoch(1);
  train_batch(0, scalar(0.5));
  EXPECT_EQ(console_->take(),
            "\rEpoch 2/3 =======>---------------------- 1/4 [00:00<00:01, 2.0 it/s] loss 0.500\x1b[K");
  train_batch(1, scalar(0.25));
  EXPECT_EQ(console_->take(),
            "\rEpoch 2/3 ===============--------------- 2/4 [00:01<00:01, 2.0 it/s] loss 0.250\x1b[K");
}

TEST_F(ProgressBarTest, EpochEndsWithItsFinalValuesAndANewLine) {
  start(true);
  start_epoch(0);
  run_.train_store.log("train_acc", 0.75, {.prog_bar = true}, 1.0);
  run_.train_store.log("hidden", 1.0, {}, 1.0);
  for (int64_t i = 0; i < 4; ++i) train_batch(i, scalar(0.5));
  run_.num_batches = 2;
  bar_->on_validation_start(run_.context(Stage::kValidate));
  validation_batch(0);
  validation_batch(1);
  run_.evaluation_store.log("val_acc", 0.5, {.prog_bar = true}, 1.0);
  run_.metrics.set("val_acc", 0.625);  // over all ranks
  bar_->on_validation_end(run_.context(Stage::kValidate));
  console_->take();
  console_->columns = 120;
  end_epoch();
  EXPECT_EQ(console_->take(),
            "\rEpoch 1/3 ======================================== 4/4 [00:02, 2.0 it/s] loss 0.500 train_acc 0.750 "
            "val_acc 0.625\x1b[K\n");
}

TEST_F(ProgressBarTest, ValuesOfTheLastValidationStayInTheNextEpoch) {
  start(false, {.line_interval_s = 0.0});
  run_.evaluation_store.log("val_acc", 0.5, {.prog_bar = true}, 1.0);
  start_epoch(0);
  bar_->on_validation_start(run_.context(Stage::kValidate));
  bar_->on_validation_end(run_.context(Stage::kValidate));
  start_epoch(1);
  train_batch(0, scalar(1.0));
  EXPECT_EQ(console_->take(), "Epoch 2/3 1/4 [00:00<00:01, 2.0 it/s] val_acc 0.500 loss 1.000\n");
}

TEST_F(ProgressBarTest, ValidationWithinAFitHasTheLineForAWhile) {
  start(true);
  start_epoch(0);
  bar_->on_validation_start(run_.context(Stage::kValidate));
  validation_batch(0);
  EXPECT_EQ(console_->take(),
            "\rEpoch 1/3 validate ========------------------------ 1/4 [00:00<00:01, 2.0 it/s]\x1b[K");
  bar_->on_validation_end(run_.context(Stage::kValidate));
  EXPECT_EQ(console_->take(), "");
}

TEST_F(ProgressBarTest, EvaluationAloneEndsWithItsOwnLine) {
  console_ = std::make_shared<FakeConsole>(false);
  bar_ = std::make_unique<ProgressBar>(ProgressBar::Options{}, console_);
  run_.num_batches = 1;
  run_.evaluation_store.log("test_acc", 0.5, {.prog_bar = true}, 1.0);
  bar_->on_test_start(run_.context(Stage::kTest));
  console_->now += kBatchSeconds;
  bar_->on_test_batch_end(run_.context(Stage::kTest), Batch());
  bar_->on_test_end(run_.context(Stage::kTest));
  EXPECT_EQ(console_->take(), "Test 1/1 [00:00, 2.0 it/s] test_acc 0.500\n");
  bar_->on_validation_start(run_.context(Stage::kValidate));
  validation_batch(0);
  bar_->on_validation_end(run_.context(Stage::kValidate));
  EXPECT_EQ(console_->take(), "Validate 1/1 [00:00, 2.0 it/s] test_acc 0.500\n");
  FakeRun prediction;
  prediction.num_batches = 1;
  bar_->on_predict_start(prediction.context(Stage::kPredict));
  console_->now += kBatchSeconds;
  bar_->on_predict_batch_end(prediction.context(Stage::kPredict), Batch(), Batch());
  bar_->on_predict_end(prediction.context(Stage::kPredict));
  EXPECT_EQ(console_->take(), "Predict 1/1 [00:00, 2.0 it/s]\n");
}

// Batches end at 0.5, 1.0, 1.5 and 2.0 s; with one line a second there are lines at 1.0 and 2.0 s.
TEST_F(ProgressBarTest, FileGetsALineNowAndThenAndOneAtTheEnd) {
  start(false, {.line_interval_s = 1.0});
  start_epoch(0);
  for (int64_t i = 0; i < 4; ++i) train_batch(i, scalar(1.0 + static_cast<double>(i)));
  end_epoch();
  EXPECT_EQ(console_->written,
            "Epoch 1/3 2/4 [00:01<00:01, 2.0 it/s] loss 2.000\n"
            "Epoch 1/3 4/4 [00:02<00:00, 2.0 it/s] loss 4.000\n"
            "Epoch 1/3 4/4 [00:02, 2.0 it/s] loss 4.000\n");
  EXPECT_EQ(console_->written.find_first_of("\r\x1b"), std::string::npos);
}

// No line is due within the epoch, and yet its last loss is known at its end.
TEST_F(ProgressBarTest, ShortEpochInAFileIsOneLineWithTheLastLoss) {
  start(false);
  start_epoch(0);
  for (int64_t i = 0; i < 4; ++i) train_batch(i, scalar(static_cast<double>(i)));
  end_epoch();
  EXPECT_EQ(console_->written, "Epoch 1/3 4/4 [00:02, 2.0 it/s] loss 3.000\n");
}

TEST_F(ProgressBarTest, EpochCutShortByMaxStepsHasItsLastLoss) {
  start(false);
  run_.max_steps = 1;
  start_epoch(0);
  run_.state.global_step = 1;
  train_batch(0, scalar(3.0));
  end_epoch();
  EXPECT_EQ(console_->written, "Epoch 1/3 1/4 [00:00, 2.0 it/s] loss 3.000\n");
}

TEST_F(ProgressBarTest, RefreshIntervalBoundsTheDrawings) {
  start(true, {.refresh_interval_s = 0.9});
  start_epoch(0);
  train_batch(0, scalar(1.0));
  EXPECT_NE(console_->take(), "");
  train_batch(1, scalar(1.0));
  EXPECT_EQ(console_->take(), "");
  train_batch(2, scalar(1.0));
  EXPECT_NE(console_->take(), "");
}

// Field case B33: 8.0 over 4 samples is 2.0, whatever the accumulation is.
TEST_F(ProgressBarTest, WeightedLossIsDividedByItsWeight) {
  start(false, {.line_interval_s = 0.0});
  start_epoch(0);
  train_batch(0, StepOutput(scalar(8.0), 4.0));
  EXPECT_NE(console_->take().find("loss 2.000"), std::string::npos);
}

TEST_F(ProgressBarTest, SkippedBatchKeepsTheLastLoss) {
  start(false, {.line_interval_s = 0.0});
  start_epoch(0);
  train_batch(0, scalar(3.0));
  console_->take();
  train_batch(1, StepOutput::skip());
  EXPECT_NE(console_->take().find("loss 3.000"), std::string::npos);
}

TEST_F(ProgressBarTest, NothingOnADeviceIsReadWhileBatchesRun) {
  start(false, {.line_interval_s = 0.0});
  start_epoch(0);
  run_.train_store.log("train_acc", 0.25, {.prog_bar = true}, 1.0);
  train_batch(0, scalar(3.0));
  console_->take();
  run_.train_store.log("train_acc", unreadable(), {.prog_bar = true}, 1.0);
  run_.metrics.set("train_acc", 0.5);  // the loop has read it for a logger
  train_batch(1, unreadable());
  EXPECT_EQ(console_->take(), "Epoch 1/3 2/4 [00:01<00:01, 2.0 it/s] loss 3.000 train_acc 0.500\n");
}

// Batch 2 is the first one after a resume. Two batches in a second, and the bar counts from the epoch's start.
TEST_F(ProgressBarTest, ResumedEpochCountsOldBatchesInTheBarAndNotInTheRate) {
  start(false);
  start_epoch(0);
  train_batch(2, scalar(1.0));
  train_batch(3, scalar(1.0));
  end_epoch();
  EXPECT_EQ(console_->take(), "Epoch 1/3 4/4 [00:01, 2.0 it/s] loss 1.000\n");
}

TEST_F(ProgressBarTest, EpochWithoutALimitIsANumber) {
  start(false, {.line_interval_s = 0.0});
  run_.max_epochs.reset();
  run_.num_batches.reset();
  start_epoch(4);
  train_batch(0, scalar(1.0));
  EXPECT_EQ(console_->take(), "Epoch 5 1 [00:00, 2.0 it/s] loss 1.000\n");
}

// From 2 batches a second to 1: the sample at 1.5 s has weight 1 - exp(-1 / 3) = 0.283, so 2 - 0.283 = 1.7.
TEST_F(ProgressBarTest, RateIsSmoothed) {
  start(false, {.line_interval_s = 0.0});
  start_epoch(0);
  train_batch(0, StepOutput::skip());
  console_->take();
  console_->now += 0.5;
  train_batch(1, StepOutput::skip());
  EXPECT_EQ(console_->take(), "Epoch 1/3 2/4 [00:01<00:01, 1.7 it/s]\n");
}

TEST_F(ProgressBarTest, ErrorBeginsOnItsOwnLine) {
  start(true);
  start_epoch(0);
  train_batch(0, scalar(1.0));
  console_->take();
  bar_->on_exception(run_.context(Stage::kTrain), std::runtime_error("x"));
  EXPECT_EQ(console_->take(), "\n");
  bar_->on_exception(run_.context(Stage::kTrain), std::runtime_error("x"));
  EXPECT_EQ(console_->take(), "");
}

class RankOne final : public Communicator {
 public:
  int64_t rank() const override { return 1; }
  int64_t world_size() const override { return 2; }
  void all_reduce(at::Tensor& /*tensor*/, ReduceOp /*op*/) override {}
  void broadcast(at::Tensor& /*tensor*/, int64_t /*source*/) override {}
  void barrier() override {}
};

TEST_F(ProgressBarTest, OtherRanksAreSilent) {
  RankOne rank_one;
  run_.communicator = &rank_one;
  start(true);
  start_epoch(0);
  for (int64_t i = 0; i < 4; ++i) train_batch(i, scalar(1.0));
  bar_->on_validation_start(run_.context(Stage::kValidate));
  validation_batch(0);
  bar_->on_validation_end(run_.context(Stage::kValidate));
  end_epoch();
  bar_->on_exception(run_.context(Stage::kTrain), std::runtime_error("x"));
  EXPECT_EQ(console_->written, "");
}

TEST(ProgressBarOptionsTest, NegativeIntervalIsAnError) {
  try {
    ProgressBar bar({.refresh_interval_s = -1.0});
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "[ProgressBar] refresh_interval_s must be >= 0, got -1.");
  }
}

}  // namespace
}  // namespace levin
