#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/report/run_record.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr LearningRateFinderOptions kSearch = {.min_lr = 1e-5, .max_lr = 1.0, .num_steps = 60};

// With dropout, so that the random generators matter, and a record of the learning rates of the steps.
struct NoisyModel : TinyModel {
  NoisyModel() {
    step = [](TinyModel& m, const Batch& batch, StepContext& ctx) {
      const at::Tensor loss = at::mse_loss(at::dropout(m.forward(batch[0].tensor()), 0.1, true), batch[1].tensor());
      ctx.log("loss", loss);
      return loss;
    };
  }
};

struct TuneTest : testing::Test {
  TrainerOptions options(int64_t max_epochs = 2) {
    TrainerOptions result = quiet({.max_epochs = max_epochs, .log_every_n_steps = 1});
    result.default_root_dir = folder.path().string();
    result.seed = 4;
    return result;
  }
  TestFolder folder;
};

// The rates of the steps of a fit.
std::shared_ptr<HookCallback> record_rates(std::vector<double>& rates) {
  auto callback = std::make_shared<HookCallback>();
  callback->before_step = [&rates](const RunContext& run) { rates.push_back(learning_rates((*run.optimizers)[0])[0]); };
  return callback;
}

template <class Work>
std::string config_error(Work work) {
  try {
    work();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST_F(TuneTest, TheSearchFindsARateAtWhichTheModelLearns) {
  TinyModel model;
  TinyData data(32, 8);
  data.shuffles = true;
  Trainer trainer(options());
  const TunerResult found = trainer.tune(model, data, {.learning_rate = kSearch});
  ASSERT_TRUE(found.learning_rate);
  ASSERT_TRUE(found.learning_rate->suggestion);
  // The loss is 2 mean(x^2) (w - 2)^2 / 2 with mean(x^2) about 360: steps diverge above 2 / 720.
  EXPECT_GT(*found.learning_rate->suggestion, 1e-5);
  EXPECT_LT(*found.learning_rate->suggestion, 2.0 / 720.0);
  EXPECT_EQ(found.learning_rate->learning_rates.size(), found.learning_rate->losses.size());
  EXPECT_FALSE(found.batch_size);
}

TEST_F(TuneTest, ASearchLeavesNoTrace) {
  const auto train = [&](bool searches) {
    NoisyModel model;
    TinyData data(16, 4);
    data.shuffles = true;
    Trainer trainer(options());
    if (searches) {
      trainer.tune(model, data, {.learning_rate = kSearch});
      EXPECT_EQ(model.weight(), 0.0);
      EXPECT_FALSE(model.w.grad().defined());
      EXPECT_TRUE(model.is_training());
      EXPECT_EQ(trainer.state().global_step, 0);
    }
    trainer.fit(model, data);
    return model.weight();
  };
  EXPECT_EQ(train(true), train(false));
}

TEST_F(TuneTest, CallbacksAndLoggersOfTheRunSeeNothingOfASearch) {
  std::vector<std::string> calls;
  const auto logger = std::make_shared<RecordingLogger>();
  auto with_logger = options();
  with_logger.logger = true;
  Trainer trainer(with_logger, {.callbacks = {std::make_shared<RecordingCallback>("cb", calls)}, .loggers = {logger}});
  TinyModel model;
  TinyData data(16, 4);
  trainer.tune(model, data, {.learning_rate = kSearch});
  EXPECT_THAT(calls, ElementsAre());
  EXPECT_TRUE(logger->rows.empty());
}

TEST_F(TuneTest, AFitTrainsWithTheRateItFound) {
  TinyModel model;
  TinyData data(32, 8);
  data.shuffles = true;
  const TunerResult found = Trainer(options()).tune(model, data, {.learning_rate = kSearch});
  std::vector<double> rates;
  Trainer trainer(options(1), {.callbacks = {record_rates(rates)}, .tuner = {.learning_rate = kSearch}});
  trainer.fit(model, data);
  ASSERT_TRUE(found.learning_rate->suggestion);
  ASSERT_EQ(rates.size(), 4u);
  EXPECT_EQ(rates[0], found.learning_rate->suggestion);
  EXPECT_EQ(rates[3], found.learning_rate->suggestion);
}

TEST_F(TuneTest, ParameterGroupsKeepTheirProportion) {
  struct TwoGroups : TinyModel {
    TwoGroups() { v = register_parameter("v", torch::zeros({1, 1})); }
    Optimizers configure_optimizers() override {
      std::vector<torch::optim::OptimizerParamGroup> groups;
      groups.emplace_back(std::vector<at::Tensor>{w}, std::make_unique<torch::optim::SGDOptions>(0.01));
      groups.emplace_back(std::vector<at::Tensor>{v}, std::make_unique<torch::optim::SGDOptions>(0.002));
      return std::make_unique<torch::optim::SGD>(groups, torch::optim::SGDOptions(0.01));
    }
    at::Tensor v;
  } model;
  TinyData data(32, 8);
  data.shuffles = true;
  double ratio = 0.0;
  const auto callback = std::make_shared<HookCallback>();
  callback->before_step = [&](const RunContext& run) {
    const std::vector<double> rates = learning_rates((*run.optimizers)[0]);
    ratio = rates[1] / rates[0];
    EXPECT_NE(rates[0], 0.01);
  };
  Trainer(options(1), {.callbacks = {callback}, .tuner = {.learning_rate = kSearch}}).fit(model, data);
  EXPECT_NEAR(ratio, 0.2, 1e-9);
}

TEST_F(TuneTest, TheBatchSizeFillsTheMemoryGiven) {
  LargeModel model;
  TinyData data(256, 4);
  auto limited = options();
  limited.memory_limit = "40MiB";
  Trainer trainer(limited);
  const TunerResult found = trainer.tune(model, data, {.batch_size = BatchSizeFinderOptions{.mode = "binary"}});
  ASSERT_TRUE(found.batch_size);
  EXPECT_GE(found.batch_size->batch_size, 6);
  EXPECT_LE(found.batch_size->batch_size, 40);
  EXPECT_EQ(data.batch_size, found.batch_size->batch_size);
  EXPECT_FALSE(found.batch_size->trials.back().samples_per_second < 0.0);
  EXPECT_NO_THROW(trainer.fit(model, data));
  data.batch_size = 4 * found.batch_size->batch_size;
  EXPECT_THROW(Trainer(limited).fit(model, data), c10::OutOfMemoryError);
}

TEST_F(TuneTest, TheBatchSizeStopsAtTheData) {
  TinyModel model;
  TinyData data(20, 4);
  auto limited = options();
  limited.memory_limit = "1GiB";
  const TunerResult found = Trainer(limited).tune(model, data, {.batch_size = BatchSizeFinderOptions()});
  EXPECT_EQ(found.batch_size->batch_size, 20);
}

TEST_F(TuneTest, AResumedFitKeepsTheBatchSizeAndDoesNotSearchAgain) {
  auto limited = options(1);
  limited.memory_limit = "1GiB";
  limited.enable_checkpointing = true;
  const TunerOptions search = {.batch_size = BatchSizeFinderOptions{.max_batch_size = 8}, .learning_rate = kSearch};
  std::vector<double> rates;
  {
    TinyModel model;
    TinyData data(32, 4);
    Trainer(limited, {.callbacks = {record_rates(rates)}, .tuner = search}).fit(model, data);
    EXPECT_EQ(data.batch_size, 8);
  }
  TinyModel model;
  TinyData data(32, 4);
  limited.max_epochs = 2;
  Trainer trainer(limited, {.callbacks = {record_rates(rates)}, .tuner = search});
  trainer.fit(model, data, "last");
  EXPECT_EQ(data.batch_size, 8);
  EXPECT_EQ(model.num_training_steps, 4);
  ASSERT_EQ(rates.size(), 8u);
  EXPECT_EQ(rates[7], rates[0]);
}

TEST_F(TuneTest, TheReportShowsWhatWasTried) {
  TinyModel model;
  TinyData data(32, 8);
  auto limited = options();
  limited.memory_limit = "1GiB";
  limited.logger = true;
  Trainer trainer(limited);
  const TunerResult found =
      trainer.tune(model, data, {.batch_size = BatchSizeFinderOptions{.max_batch_size = 8}, .learning_rate = kSearch});
  const std::optional<RunRecord> record = read_run_record(trainer.run_dir());
  ASSERT_TRUE(record);
  ASSERT_EQ(record->sections.size(), 2u);
  EXPECT_EQ(record->sections[0].table->rows.size(), found.batch_size->trials.size());
  EXPECT_EQ(record->sections[1].curve->y, found.learning_rate->losses);
  EXPECT_EQ(record->sections[1].curve->marked_x, found.learning_rate->suggestion);
  std::ifstream page(trainer.run_dir() / "report.html");
  std::ostringstream text;
  text << page.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("Learning-rate finder"));
}

TEST_F(TuneTest, WrongUseIsRefused) {
  TinyModel model;
  TinyData data(32, 8);
  const TunerOptions rate = {.learning_rate = kSearch};
  const TunerOptions size = {.batch_size = BatchSizeFinderOptions()};
  auto scaled = options();
  scaled.lr_scaling = "linear";
  EXPECT_THAT(config_error([&] { Trainer(scaled).tune(model, data, rate); }), HasSubstr("lr_scaling to none"));
  EXPECT_THAT(config_error([&] { Trainer(options()).tune(model, data, size); }), HasSubstr("Set memory_limit"));
  auto limited = options();
  limited.memory_limit = "1GiB";
  const auto loader = data.loader();
  EXPECT_THAT(config_error([&] { Trainer(limited).tune(model, *loader, size); }), HasSubstr("needs a data module"));
  struct FixedData : TinyData {
    using TinyData::TinyData;
    bool set_batch_size(int64_t /*size*/) override { return false; }
  } fixed(32, 8);
  EXPECT_THAT(config_error([&] { Trainer(limited).tune(model, fixed, size); }), HasSubstr("set_batch_size()"));
  struct Manual : TinyModel {
    bool automatic_optimization() const override { return false; }
  } manual;
  EXPECT_THAT(config_error([&] { Trainer(options()).tune(manual, data, rate); }), HasSubstr("automatic optimization"));
}

TEST_F(TuneTest, ASignalEndsASearchAndAFit) {
  const auto step = [](TinyModel& m, const Batch& batch, StepContext& ctx) {
    if (ctx.global_step() == 1) raise(SIGTERM);
    return m.loss(batch);
  };
  auto limited = options();
  limited.memory_limit = "1GiB";
  TinyModel model(step);
  TinyData data(32, 8);
  data.shuffles = true;
  EXPECT_EQ(Trainer(limited).tune(model, data, {.learning_rate = kSearch}).signal, SIGTERM);
  EXPECT_EQ(model.weight(), 0.0);
  const TunerOptions size = {.batch_size = BatchSizeFinderOptions()};
  EXPECT_EQ(Trainer(limited).tune(model, data, size).signal, SIGTERM);
  EXPECT_EQ(data.batch_size, 8);
  const FitResult result = Trainer(limited, {.tuner = size}).fit(model, data);
  EXPECT_EQ(result.status, FitStatus::kTerminated);
  EXPECT_EQ(result.num_steps, 0);
  EXPECT_EQ(data.batch_size, 8);
  EXPECT_EQ(data.num_teardowns, 3);
}

TEST_F(TuneTest, ABatchThatTheDataDoesNotHaveEndsTheGrowthAndOtherErrorsAreErrors) {
  struct PickyData : TinyData {
    using TinyData::TinyData;
    std::unique_ptr<DataLoader> train_dataloader() override {
      if (batch_size > 16) throw DataError("there are no batches of that size");
      return loader();
    }
  } picky(20, 4);
  auto limited = options();
  limited.memory_limit = "1GiB";
  const TunerOptions size = {.batch_size = BatchSizeFinderOptions()};
  TinyModel model;
  EXPECT_EQ(Trainer(limited).tune(model, picky, size).batch_size->batch_size, 16);
  TinyModel failing([](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) -> StepOutput {
    if (batch.batch_size() == 8) throw DataError("a sample is damaged");
    return m.loss(batch);
  });
  picky.batch_size = 4;
  EXPECT_THROW(Trainer(limited).tune(failing, picky, size), DataError);
  EXPECT_EQ(picky.batch_size, 4);
}

TEST_F(TuneTest, AFitAfterASearchStillLogsTheHyperparametersOnce) {
  struct Logged final : Logger {
    void open(const std::filesystem::path& /*run_dir*/) override {}
    void log_metrics(const Metrics& /*metrics*/, int64_t /*step*/, int64_t /*epoch*/) override {}
    void flush() override {}
    void log_hyperparameters(const Hyperparameters& /*hyperparameters*/) override { ++count; }
    int64_t count = 0;
  };
  struct Named : TinyModel {
    StateDict hyperparameters() const override {
      StateDict state;
      state.set("size", int64_t{3});
      return state;
    }
  } model;
  const auto logger = std::make_shared<Logged>();
  auto with_logger = options(1);
  with_logger.logger = true;
  Trainer trainer(with_logger, {.loggers = {logger}});
  TinyData data(32, 8);
  trainer.tune(model, data, {.learning_rate = kSearch});
  trainer.fit(model, data);
  EXPECT_EQ(logger->count, 1);
}

TEST_F(TuneTest, AnErrorInASearchPutsTheModelBack) {
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& ctx) {
    if (ctx.global_step() == 2) throw std::runtime_error("no more");
    return m.loss(batch);
  });
  TinyData data(32, 8);
  data.shuffles = true;
  EXPECT_THROW(Trainer(options()).tune(model, data, {.learning_rate = kSearch}), std::runtime_error);
  EXPECT_EQ(model.weight(), 0.0);
  EXPECT_EQ(data.num_teardowns, 1);
}

}  // namespace
}  // namespace levin
