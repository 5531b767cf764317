#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "callbacks/model_checkpoint.h"
#include "tests/callbacks/fake_run.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// 6 batches of 2 samples.
TinyData six_batches() {
  TinyData data(12, 2);
  data.has_validation = true;
  return data;
}

// The training batches done (over all epochs) at each validation.
std::vector<int64_t> validations(const TrainerOptions& options, int64_t num_batches = 6) {
  std::vector<int64_t> found;
  TinyModel model;
  model.on_validation = [&](const Batch& /*batch*/, StepContext& ctx) {
    if (ctx.batch_idx() == 0) found.push_back(model.num_training_steps);
  };
  TinyData data(2 * num_batches, 2);
  data.has_validation = true;
  Trainer(quiet(options)).fit(model, data);
  return found;
}

TEST(FitOptionsTest, ValidationsWithinAndOverEpochs) {
  EXPECT_THAT(validations({.max_epochs = 2, .num_sanity_val_steps = 0}), ElementsAre(6, 12));
  EXPECT_THAT(validations({.max_epochs = 1, .val_check_interval = 4, .num_sanity_val_steps = 0}), ElementsAre(4));
  EXPECT_THAT(validations({.max_epochs = 2, .val_check_interval = 0.5, .num_sanity_val_steps = 0}),
              ElementsAre(3, 6, 9, 12));
  EXPECT_THAT(validations({.max_epochs = 2,
                           .val_check_interval = 4,
                           .check_val_every_n_epoch = std::nullopt,
                           .num_sanity_val_steps = 0}),
              ElementsAre(4, 8, 12));
  EXPECT_THAT(validations({.max_epochs = 4, .check_val_every_n_epoch = 3, .num_sanity_val_steps = 0}), ElementsAre(18));
  // The sanity check comes before the first batch.
  EXPECT_THAT(validations({.max_epochs = 1}), ElementsAre(0, 6));
}

TEST(FitOptionsTest, AnIntervalLongerThanTheEpochIsRefused) {
  TinyModel model;
  TinyData data = six_batches();
  Trainer trainer(quiet({.max_epochs = 1, .val_check_interval = 7}));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.fit(model, data); }),
              AllOf(HasSubstr("val_check_interval is 7 batches, but an epoch has 6"), HasSubstr("null")));
}

TEST(FitOptionsTest, ValidationsByTime) {
  int64_t num_validations = 0;
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return m.loss(batch);
  });
  model.on_validation = [&](const Batch& /*batch*/, StepContext& ctx) { num_validations += ctx.batch_idx() == 0; };
  TinyData data = six_batches();
  TrainerOptions options = quiet({.max_epochs = 1, .num_sanity_val_steps = 0});
  options.val_check_interval = ValidationInterval("0.05s");
  Trainer(options).fit(model, data);
  EXPECT_GE(num_validations, 1);
  EXPECT_LE(num_validations, 3);
}

TEST(FitOptionsTest, SanityCheckLeavesNoTrace) {
  TinyModel model;
  int64_t num_batches = 0;
  model.on_validation = [&](const Batch& /*batch*/, StepContext& /*ctx*/) { ++num_batches; };
  TinyData data = six_batches();
  const auto callback = std::make_shared<HookCallback>();
  const auto logger = std::make_shared<RecordingLogger>();
  int64_t num_sanity_batches = -1;
  callback->batch_end = [&](const RunContext& run, const StepOutput& /*output*/) {
    if (num_sanity_batches >= 0) return;
    num_sanity_batches = num_batches;
    EXPECT_FALSE(run.metrics.find("val_loss"));
  };
  TrainerOptions options = quiet({.max_epochs = 1});
  options.logger = true;
  const TemporaryFolder folder;
  options.default_root_dir = folder.path;
  Trainer(options, {.callbacks = {callback}, .loggers = {logger}}).fit(model, data);
  EXPECT_EQ(num_sanity_batches, 2);
  EXPECT_THAT(logger->steps_of("val_loss"), ElementsAre(5));
  options.num_sanity_val_steps = -1;
  num_batches = 0;
  num_sanity_batches = -1;
  Trainer(options, {.callbacks = {callback}, .loggers = {logger}}).fit(model, data);
  EXPECT_EQ(num_sanity_batches, 6);
}

TEST(FitOptionsTest, MinimaHoldBackAnEarlyEnd) {
  const auto fit = [](TrainerOptions options) {
    TinyModel model;
    TinyData data = six_batches();
    const auto callback = std::make_shared<HookCallback>();
    callback->batch_end = [](const RunContext& run, const StepOutput& /*output*/) { run.control.request_stop("now"); };
    return Trainer(quiet(options), {.callbacks = {callback}}).fit(model, data).num_steps;
  };
  EXPECT_EQ(fit({.max_epochs = 5}), 1);
  EXPECT_EQ(fit({.max_epochs = 5, .min_steps = 4}), 4);
  EXPECT_EQ(fit({.max_epochs = 5, .min_epochs = 2}), 12);
  EXPECT_EQ(fit({.max_epochs = 5, .min_epochs = 2, .min_steps = 15}), 15);
}

TEST(FitOptionsTest, TimeEndsTheFitAtAStep) {
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return m.loss(batch);
  });
  TinyData data = six_batches();
  TrainerOptions options = quiet({.max_time = "0.1s"});
  const FitResult result = Trainer(options).fit(model, data);
  EXPECT_EQ(result.status, FitStatus::kFinished);
  EXPECT_GE(result.num_steps, 1);
  EXPECT_LE(result.num_steps, 5);
  options.min_steps = 6;
  EXPECT_GE(Trainer(options).fit(model, data).num_steps, 6);
}

TEST(FitOptionsTest, FastDevRunTriesEverythingAndKeepsNothing) {
  const TemporaryFolder folder;
  TrainerOptions options;
  options.accelerator = "cpu";
  options.enable_progress_bar = options.enable_model_summary = false;
  options.default_root_dir = folder.path;
  options.fast_dev_run = 2;
  options.max_epochs = 10;
  TinyModel model;
  int64_t num_val_batches = 0;
  model.on_validation = [&](const Batch& /*batch*/, StepContext& /*ctx*/) { ++num_val_batches; };
  TinyData data = six_batches();
  TrainerParts parts;
  parts.callbacks = {std::make_shared<ModelCheckpoint>()};
  parts.loggers = {std::make_shared<RecordingLogger>()};
  const FitResult result = Trainer(options, parts).fit(model, data);
  EXPECT_EQ(result.num_steps, 2);
  EXPECT_EQ(num_val_batches, 2);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(FitOptionsTest, BareRunsKeepNothing) {
  const TemporaryFolder folder;
  TrainerOptions options;
  options.accelerator = "cpu";
  options.default_root_dir = folder.path;
  options.barebones = true;
  options.max_epochs = 1;
  TinyModel model;
  TinyData data = six_batches();
  EXPECT_EQ(Trainer(options).fit(model, data).num_steps, 6);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(FitOptionsTest, OverfitBatchesAreTheSameInEachEpoch) {
  std::vector<double> first;
  TinyModel model([&](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
    first.push_back(batch[0].tensor()[0].item<double>());
    return m.loss(batch);
  });
  TinyData data(12, 2);
  data.shuffles = true;
  TrainerOptions options = quiet({.max_epochs = 3});
  options.overfit_batches = 2;
  Trainer(options).fit(model, data);
  EXPECT_THAT(first, ElementsAre(1, 3, 1, 3, 1, 3));
}

TEST(FitOptionsTest, LoadersAreMadeAnewEveryNEpochs) {
  struct Growing final : TinyData {
    std::unique_ptr<DataLoader> train_dataloader() override {
      num_samples = 2 * ++num_loaders;
      batch_size = 2;
      return loader();
    }
    int64_t num_loaders = 0;
  };
  TinyModel model;
  Growing data;
  TrainerOptions options = quiet({.max_epochs = 4, .reload_dataloaders_every_n_epochs = 2});
  EXPECT_EQ(Trainer(options).fit(model, data).num_steps, 1 + 1 + 2 + 2);
  EXPECT_EQ(data.num_loaders, 2);
}

// Field case A21: the gradient of sqrt at 0 is infinite, and 0 * inf is no number.
TEST(FitOptionsTest, AnomaliesAreNamed) {
  TinyModel model([](TinyModel& m, const Batch& /*batch*/, StepContext& /*ctx*/) { return (m.w * 0.0).sqrt().sum(); });
  TinyData data = six_batches();
  Trainer trainer(quiet({.max_epochs = 1, .num_sanity_val_steps = 0, .detect_anomaly = true}));
  EXPECT_THAT(thrown_text<ModelError>([&] { trainer.fit(model, data); }),
              AllOf(HasSubstr("SqrtBackward"), HasSubstr("w"), HasSubstr("epoch 0, batch 0")));
  Trainer healthy(quiet({.max_epochs = 1, .detect_anomaly = true}));
  TinyModel good;
  EXPECT_EQ(healthy.fit(good, data).num_steps, 6);
}

TEST(FitOptionsTest, DeterminismHoldsDuringTheRunOnly) {
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
    EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
    return m.loss(batch);
  });
  TinyData data = six_batches();
  Trainer(quiet({.max_epochs = 1, .deterministic = true})).fit(model, data);
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());
}

TEST(FitOptionsTest, EvaluationOnItsOwnIsInInferenceMode) {
  for (const bool is_inference : {true, false}) {
    TinyModel model;
    bool was_inference = !is_inference;
    model.on_validation = [&](const Batch& /*batch*/, StepContext& /*ctx*/) {
      was_inference = at::zeros({1}).is_inference();
      EXPECT_FALSE(at::GradMode::is_enabled());
    };
    TinyData data = six_batches();
    TrainerOptions options = quiet({});
    options.inference_mode = is_inference;
    Trainer(options).validate(model, data);
    EXPECT_EQ(was_inference, is_inference);
  }
}

// A validation between two training batches changes nothing for the training.
TEST(FitOptionsTest, ValidationNeverChangesTheTraining) {
  const auto fit = [](TrainerOptions options) {
    options.seed = 3;
    options.accumulate_grad_batches = 4;
    Trainer trainer(quiet(options));
    TinyModel model([](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
      return m.loss(batch) * at::dropout(torch::ones({8}), 0.5, /*train=*/true).mean();
    });
    model.on_validation = [](const Batch& /*batch*/, StepContext& /*ctx*/) { at::rand({3}); };
    TinyData data = six_batches();
    data.shuffles = true;
    trainer.fit(model, data);
    return model.weight();
  };
  const double expected = fit({.max_epochs = 2, .limit_val_batches = 0});
  EXPECT_EQ(fit({.max_epochs = 2}), expected);
  EXPECT_EQ(fit({.max_epochs = 2, .val_check_interval = 1}), expected);
}

TEST(FitOptionsTest, ProfilersReport) {
  TinyModel model;
  TinyData data = six_batches();
  TrainerOptions options = quiet({.max_epochs = 1});
  options.profiler = "simple";
  EXPECT_THAT(Trainer(options).fit(model, data).profile,
              AllOf(HasSubstr("forward"), HasSubstr("backward"), HasSubstr("optimizer"), HasSubstr("validation")));
  options.profiler = "memory";
  EXPECT_THAT(Trainer(options).fit(model, data).profile, AllOf(HasSubstr("cpu"), HasSubstr("forward")));
  options.profiler.clear();
  EXPECT_EQ(Trainer(options).fit(model, data).profile, "");
}

}  // namespace
}  // namespace levin
