#include "trainer/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "callbacks/model_checkpoint.h"
#include "tests/callbacks/fake_run.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/find_checkpoint.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string problems(TrainerOptions options, TrainerParts parts = {}) {
  return thrown_text<ConfigError>([&] { Trainer trainer(options, parts); });
}

OptimizerFactory sgd(double learning_rate) {
  return [learning_rate](std::vector<at::Tensor> parameters) -> Optimizers {
    return std::make_unique<torch::optim::SGD>(std::move(parameters), learning_rate);
  };
}

TEST(TrainerTest, AllProblemsAreListedAtOnce) {
  TrainerOptions options{.accelerator = "tpu", .strategy = "ddp", .precision = "16", .max_epochs = -2};
  options.limit_train_batches = 1.5;
  options.experiment_name = "a/b";
  EXPECT_THAT(
      problems(options),
      AllOf(HasSubstr("accelerator must be one of: auto, cpu, cuda"),
            HasSubstr("strategy must be one of: auto, single"), HasSubstr("precision must be one of: 32-true, 64-true"),
            HasSubstr("max_epochs must be >= -1"), HasSubstr("limit_train_batches"), HasSubstr("experiment_name")));
}

TEST(TrainerTest, MoreThanOneDeviceIsRefused) {
  EXPECT_THAT(problems({.devices = 2}), HasSubstr("2 devices are asked for, but strategy \"auto\" uses exactly 1"));
  EXPECT_THAT(problems({.devices = 0}), HasSubstr("devices must be >= 1, got 0"));
  EXPECT_THAT(problems({.accelerator = "cpu", .gpus = 1}), HasSubstr("gpus is 1, but accelerator is \"cpu\""));
}

TEST(TrainerTest, PartsThatTheOptionsExcludeAreRefused) {
  TrainerParts parts;
  parts.loggers = {std::make_shared<RecordingLogger>()};
  parts.callbacks = {std::make_shared<ModelCheckpoint>()};
  EXPECT_THAT(problems(quiet({}), parts),
              AllOf(HasSubstr("logger is false, but there are loggers"), HasSubstr("enable_checkpointing is false")));
  EXPECT_THAT(problems(quiet({}), {.callbacks = {nullptr}}), HasSubstr("a callback or logger is null"));
}

TEST(TrainerTest, OptimizerOfThePartsWins) {
  TinyModel model;
  TinyData data;
  Trainer(quiet({.max_epochs = 1}), {.optimizer = sgd(0.02)}).fit(model, data);
  EXPECT_NEAR(model.weight(), 0.60, 1e-6);
}

TEST(TrainerTest, LoadersWorkWithoutADataModule) {
  TinyModel model;
  const TinyData data;
  const auto loader = data.loader();
  const auto val_loader = data.loader();
  const FitResult result = Trainer(quiet({.max_epochs = 1})).fit(model, *loader, val_loader.get());
  EXPECT_NEAR(model.weight(), 0.30, 1e-6);
  EXPECT_TRUE(result.metrics.find("val_loss"));
}

// At w = 0 the loss is mean(y^2) = 4 mean(x^2): over x = 1 ... 5 it is 4 * 55 / 5 = 44.
TEST(TrainerTest, EvaluationReturnsTheMetricsOfAllData) {
  TinyModel model;
  TinyData data(5, 2);
  data.has_validation = true;
  Trainer trainer(quiet({}));
  EXPECT_NEAR(trainer.validate(model, data).find("val_loss").value(), 44.0, 1e-5);
  EXPECT_NEAR(trainer.test(model, data).find("test_loss").value(), 44.0, 1e-5);
  EXPECT_NEAR(trainer.metrics().find("test_loss").value(), 44.0, 1e-5);
  EXPECT_EQ(data.num_teardowns, 2);
  EXPECT_TRUE(model.is_training());
}

TEST(TrainerTest, EvaluationLimitsCount) {
  TinyModel model;
  TinyData data(5, 2);
  Trainer trainer(quiet({.limit_test_batches = 1, .limit_predict_batches = 2}));
  EXPECT_NEAR(trainer.test(model, data).find("test_loss").value(), 10.0, 1e-6);
  EXPECT_EQ(trainer.predict(model, data).size(), 2u);
}

TEST(TrainerTest, PredictionsComeInTheOrderOfTheData) {
  TinyModel model;
  at::NoGradGuard no_grad;
  model.w.fill_(10.0);
  TinyData data(5, 2);
  std::vector<double> values;
  for (const Batch& batch : Trainer(quiet({})).predict(model, data)) {
    EXPECT_TRUE(batch.tensor().is_cpu());
    EXPECT_FALSE(batch.tensor().requires_grad());
    for (int64_t i = 0; i < batch.batch_size(); ++i) values.push_back(batch.tensor()[i].item<double>());
  }
  EXPECT_EQ(values, std::vector<double>({10, 20, 30, 40, 50}));
}

// Where they go to files, memory does not grow with the data.
TEST(TrainerTest, PredictionsThatAreNotReturnedAreNotKept) {
  struct Watch final : Callback {
    void on_predict_batch_start(const RunContext& /*run*/, const Batch& /*batch*/) override {
      if (newest) num_kept += newest->expired() ? 0 : 1;
    }
    void on_predict_batch_end(const RunContext& run, const Batch& predictions, const Batch& /*batch*/) override {
      newest.emplace(predictions.tensor().getIntrusivePtr());
      indices.insert(indices.end(), run.sample_indices.begin(), run.sample_indices.end());
    }
    std::optional<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> newest;
    int64_t num_kept = 0;
    std::vector<int64_t> indices;
  };
  TinyModel model;
  TinyData data(5, 2);
  for (const bool returns : {true, false}) {
    const auto watch = std::make_shared<Watch>();
    Trainer trainer(quiet({}), {.callbacks = {watch}});
    EXPECT_EQ(trainer.predict(model, data, {}, returns).size(), returns ? 3u : 0u);
    EXPECT_EQ(watch->num_kept, returns ? 2 : 0);
    EXPECT_EQ(watch->indices, std::vector<int64_t>({0, 1, 2, 3, 4}));
  }
}

TEST(TrainerTest, RunsWithOneSeedAreBitEqual) {
  const auto run = [](uint64_t seed) {
    Trainer trainer(quiet({.max_epochs = 2, .seed = seed}));
    TinyModel model([](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
      return m.loss(batch) * at::dropout(torch::ones({8}), 0.5, /*train=*/true).mean();
    });
    at::NoGradGuard no_grad;
    model.w.normal_();
    at::AutoGradMode with_grad(true);
    TinyData data(16, 2);
    data.shuffles = true;
    trainer.fit(model, data);
    return model.weight();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

class TrainerFilesTest : public testing::Test {
 protected:
  TrainerOptions options(int64_t max_epochs = 1) const {
    TrainerOptions options = quiet({.max_epochs = max_epochs});
    options.logger = true;
    options.enable_checkpointing = true;
    options.default_root_dir = root();
    return options;
  }
  fs::path root() const { return folder_.path / "new" / "root"; }
  fs::path version(int number) const { return root() / "runs/default" / ("version_" + std::to_string(number)); }

  TemporaryFolder folder_;
  TinyData data_{6, 2};  // 3 batches
};

TEST_F(TrainerFilesTest, ARunKeepsConfigMetricsAndCheckpoint) {
  TinyModel model;
  Trainer trainer(options());
  EXPECT_EQ(trainer.run_dir(), "");
  const FitResult result = trainer.fit(model, data_);
  EXPECT_EQ(result.run_dir, version(0));
  EXPECT_EQ(trainer.run_dir(), version(0));
  std::ifstream file(version(0) / "config.yaml");
  const std::string config((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(config, AllOf(HasSubstr("max_epochs: 1"), HasSubstr("seed: ")));
  EXPECT_TRUE(fs::exists(version(0) / "metrics.csv"));
  EXPECT_TRUE(fs::exists(version(0) / "checkpoints/last/model.safetensors"));
}

TEST_F(TrainerFilesTest, ConfigOfThePartsIsWrittenAsItIs) {
  TinyModel model;
  Trainer(options(), {.config_yaml = "mine: 1\n"}).fit(model, data_);
  std::ifstream file(version(0) / "config.yaml");
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(file)), {}), "mine: 1\n");
}

TEST_F(TrainerFilesTest, EachTrainerHasItsOwnVersion) {
  TinyModel model;
  Trainer first(options(1));
  Trainer second(options(2));
  first.fit(model, data_);
  second.fit(model, data_);
  EXPECT_EQ(first.run_dir(), version(0));
  EXPECT_EQ(second.run_dir(), version(1));
  second.test(model, data_);
  EXPECT_EQ(second.run_dir(), version(1));
}

TEST_F(TrainerFilesTest, CheckpointWeightsGiveTheSameResults) {
  TinyModel trained;
  Trainer trainer(options(2));
  data_.has_validation = true;
  trainer.fit(trained, data_);
  const double expected = trainer.test(trained, data_).find("test_loss").value();

  TinyModel loaded;
  const fs::path checkpoint = find_checkpoint("last", root(), "default");
  Trainer other(quiet({}));
  EXPECT_EQ(other.test(loaded, data_, checkpoint).find("test_loss"), expected);
  EXPECT_EQ(loaded.weight(), trained.weight());
  TinyModel validated;
  EXPECT_EQ(other.validate(validated, data_, checkpoint).find("val_loss"), expected);
  TinyModel predicted;
  EXPECT_TRUE(
      at::equal(other.predict(predicted, data_, checkpoint)[0].tensor(), trainer.predict(trained, data_)[0].tensor()));
}

TEST_F(TrainerFilesTest, AMissingCheckpointIsAnErrorAndLeavesNoFolder) {
  TinyModel model;
  Trainer trainer(options());
  EXPECT_THAT(thrown_text<CheckpointError>([&] { trainer.test(model, data_, folder_.path / "none"); }),
              HasSubstr("none"));
  EXPECT_TRUE(fs::is_empty(folder_.path));
}

TEST_F(TrainerFilesTest, AFitThatFailsInItsFirstStepLeavesNothing) {
  bool fails = true;
  TinyModel model([&](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) -> StepOutput {
    if (fails) throw std::runtime_error("first step");
    return m.loss(batch);
  });
  Trainer trainer(options());
  EXPECT_THROW(trainer.fit(model, data_), std::runtime_error);
  EXPECT_TRUE(fs::is_empty(folder_.path));
  EXPECT_EQ(trainer.run_dir(), "");
  fails = false;
  trainer.fit(model, data_);
  EXPECT_EQ(trainer.run_dir(), version(0));
  EXPECT_TRUE(fs::exists(version(0) / "metrics.csv"));
}

TEST_F(TrainerFilesTest, AFitThatFailsLaterKeepsItsFolder) {
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& ctx) -> StepOutput {
    if (ctx.batch_idx() == 1) throw std::runtime_error("second step");
    return m.loss(batch);
  });
  {
    Trainer trainer(options());
    EXPECT_THROW(trainer.fit(model, data_), std::runtime_error);
  }
  EXPECT_TRUE(fs::exists(version(0) / "config.yaml"));
}

TEST_F(TrainerFilesTest, AnEvaluationThatFailsLeavesNothing) {
  TinyModel model;
  model.on_validation = [](const Batch& /*batch*/, StepContext& /*ctx*/) { throw std::runtime_error("validation"); };
  data_.has_validation = true;
  Trainer trainer(options());
  EXPECT_THROW(trainer.validate(model, data_), std::runtime_error);
  EXPECT_TRUE(fs::is_empty(folder_.path));
}

TEST_F(TrainerFilesTest, NoFolderWhereNothingIsKept) {
  TrainerOptions nothing = quiet({.max_epochs = 1});
  nothing.default_root_dir = root();
  TinyModel model;
  EXPECT_EQ(Trainer(nothing).fit(model, data_).run_dir, "");
  EXPECT_TRUE(fs::is_empty(folder_.path));
}

TEST_F(TrainerFilesTest, AnUnwritableRootIsNamed) {
  std::ofstream(folder_.path / "new") << "a file";
  TinyModel model;
  Trainer trainer(options());
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.fit(model, data_); }),
              AllOf(HasSubstr((folder_.path / "new/root").string()), HasSubstr("default_root_dir")));
  EXPECT_EQ(model.num_training_steps, 0);
}

}  // namespace
}  // namespace levin
