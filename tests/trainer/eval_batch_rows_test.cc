// Values of single evaluation batches (on_step) in the logs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "callbacks/loggers/csv_logger.h"
#include "callbacks/loggers/json_lines_logger.h"
#include "tests/callbacks/fake_run.h"
#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

constexpr LogOptions kStepAndEpoch = {.on_step = true, .on_epoch = true};

// Logs the sum of x of each batch: 3 and 7 for the samples 1, 2, 3, 4 in batches of two, 5 for their mean.
struct Model final : TinyModel {
  explicit Model(LogOptions options = kStepAndEpoch) : how(options) {}
  void validation_step(const Batch& batch, StepContext& ctx) override {
    ctx.log("val_x", batch[0].tensor().sum(), how);
  }
  void test_step(const Batch& batch, StepContext& ctx) override { ctx.log("test_x", batch[0].tensor().sum(), how); }
  LogOptions how;
};

struct BatchLogger final : Logger {
  void open(const std::filesystem::path& /*run_dir*/) override {}
  void log_metrics(const Metrics& /*metrics*/, int64_t /*step*/, int64_t /*epoch*/) override {}
  void log_batch_metrics(const Metrics& metrics, const EvaluationBatch& batch) override {
    rows.push_back(fmt::format("{} {} {} {}", batch.stage, batch.total_batches + batch.batch_idx, batch.step,
                               metrics.find("val_x").value_or(metrics.find("val_x_step").value_or(-1.0))));
  }
  void flush() override {}
  std::vector<std::string> rows;
};

class EvalBatchRowsTest : public testing::Test {
 protected:
  EvalBatchRowsTest() { data_.has_validation = true; }

  TrainerOptions options() const {
    TrainerOptions options = quiet({.max_epochs = 2, .log_every_n_steps = 0});
    options.default_root_dir = folder_.path;
    options.enable_report = false;
    options.logger = true;
    return options;
  }

  TemporaryFolder folder_;
  TinyData data_{4, 2};
};

TEST_F(EvalBatchRowsTest, CsvHasARowForEachBatchAndOneForThePass) {
  Trainer trainer(options(), {.loggers = {std::make_shared<CSVLogger>()}});
  Model model;
  trainer.fit(model, data_);
  EXPECT_EQ(read_bytes(trainer.run_dir() / "metrics.csv"),
            "step,epoch,validation_batch,val_x_step,val_x_epoch\n"
            "1,0,0,3,\n"
            "1,0,1,7,\n"
            "1,0,,,5\n"
            "3,1,0,3,\n"
            "3,1,1,7,\n"
            "3,1,,,5\n");
}

TEST_F(EvalBatchRowsTest, JsonLinesHaveTheSame) {
  Trainer trainer(options(), {.loggers = {std::make_shared<JSONLinesLogger>()}});
  Model model;
  trainer.validate(model, data_);
  EXPECT_EQ(read_bytes(trainer.run_dir() / "metrics.jsonl"),
            "{\"step\":0,\"epoch\":0,\"validation_batch\":0,\"val_x_step\":3}\n"
            "{\"step\":0,\"epoch\":0,\"validation_batch\":1,\"val_x_step\":7}\n"
            "{\"step\":0,\"epoch\":0,\"val_x_epoch\":5}\n");
}

TEST_F(EvalBatchRowsTest, TestBatchesHaveAColumnOfTheirOwnAndOneNameHasNoSuffix) {
  Trainer trainer(options(), {.loggers = {std::make_shared<CSVLogger>()}});
  Model model({.on_step = true, .on_epoch = false});
  trainer.test(model, data_);
  EXPECT_EQ(read_bytes(trainer.run_dir() / "metrics.csv"), "step,epoch,test_batch,test_x\n0,0,0,3\n0,0,1,7\n");
}

TEST_F(EvalBatchRowsTest, WithoutOnStepOrLoggerThereIsNoRowOfABatch) {
  for (const LogOptions& how : {LogOptions{}, LogOptions{.on_step = true, .logger = false}}) {
    const auto logger = std::make_shared<BatchLogger>();
    Trainer trainer(options(), {.loggers = {logger}});
    Model model(how);
    trainer.validate(model, data_);
    EXPECT_TRUE(logger->rows.empty());
  }
}

// The axis of curves over batches. The sanity check before the training is no part of it.
TEST_F(EvalBatchRowsTest, BatchesAreCountedOverTheValidationsOfARun) {
  const auto logger = std::make_shared<BatchLogger>();
  TrainerOptions with_sanity = options();
  with_sanity.num_sanity_val_steps = 1;
  Trainer trainer(with_sanity, {.loggers = {logger}});
  Model model;
  trainer.fit(model, data_);
  EXPECT_EQ(logger->rows,
            std::vector<std::string>({"validation 0 1 3", "validation 1 1 7", "validation 2 3 3", "validation 3 3 7"}));
}

TEST_F(EvalBatchRowsTest, CountGoesOnInAResumedFit) {
  TrainerOptions shorter = options();
  shorter.max_epochs = 1;
  shorter.enable_checkpointing = true;
  Model model;
  Trainer(shorter, {.loggers = {std::make_shared<BatchLogger>()}}).fit(model, data_);
  shorter.max_epochs = 2;
  const auto logger = std::make_shared<BatchLogger>();
  Trainer(shorter, {.loggers = {logger}}).fit(model, data_, "last");
  EXPECT_EQ(logger->rows, std::vector<std::string>({"validation 2 3 3", "validation 3 3 7"}));
}

}  // namespace
}  // namespace levin
