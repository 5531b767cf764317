#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What training_step returns, and what the error says of it.
struct BadLoss {
  TinyModel::Step step;
  const char* problem;
  const char* got;
};

TEST(FitLoopErrorsTest, UnusableLossesAreNamed) {
  const std::vector<BadLoss> cases = {
      {[](auto&, auto&, auto&) { return StepOutput(at::Tensor()); }, "a loss with one element", "got undefined"},
      {[](auto& m, auto& b, auto&) { return StepOutput(m.forward(b[0].tensor())); }, "a loss with one element",
       "got float32 [2, 1]"},
      {[](auto&, auto&, auto&) { return StepOutput(at::tensor(3)); }, "a loss of floating type", "got int32 [1]"},
      {[](auto& m, auto& b, auto&) { return StepOutput(m.loss(b).detach()); }, "does not depend on any parameter",
       "got float32 []"},
      {[](auto& m, auto& b, auto&) { return StepOutput(m.loss(b), 0.0); }, "a weight > 0", "with weight 0"},
      {[](auto& m, auto& b, auto&) { return StepOutput(m.loss(b), -1.0); }, "a weight > 0", "with weight -1"},
      {[](auto& m, auto& b, auto&) { return StepOutput(m.loss(b), std::numeric_limits<double>::quiet_NaN()); },
       "a weight > 0", "with weight nan"},
  };
  for (const BadLoss& c : cases) {
    TinyModel model(c.step);
    TinyData data(4, 2);
    Trainer trainer(quiet({.max_epochs = 1}));
    EXPECT_THAT(thrown_text<ModelError>([&] { trainer.fit(model, data); }),
                AllOf(HasSubstr("[training_step] epoch 0, batch 0"), HasSubstr(c.problem), HasSubstr(c.got),
                      HasSubstr("StepOutput::skip()")));
    EXPECT_EQ(model.weight(), 0.0) << c.problem;
  }
}

// 2 batches an epoch: epoch 1, batch 1 is the fourth step.
TEST(FitLoopErrorsTest, ErrorsOfLibTorchSayWhereAndWithWhichShapes) {
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& ctx) -> StepOutput {
    if (ctx.epoch() == 1 && ctx.batch_idx() == 1) return batch[0].tensor().matmul(torch::zeros({3, 1})).sum();
    return m.loss(batch);
  });
  TinyData data(4, 2);
  Trainer trainer(quiet({.max_epochs = 2}));
  EXPECT_THAT(thrown_text<ModelError>([&] { trainer.fit(model, data); }),
              AllOf(HasSubstr("[training_step] epoch 1, batch 1, step 3"), HasSubstr("2x1 and 3x1"),
                    HasSubstr("[float32 [2, 1], float32 [2, 1]]"), Not(HasSubstr("Exception raised")),
                    Not(HasSubstr("frame #")), Not(HasSubstr("\n"))));
}

TEST(FitLoopErrorsTest, ErrorsOfLibTorchInValidationAreNamedToo) {
  TinyModel model;
  model.on_validation = [](const Batch& batch, StepContext& /*ctx*/) {
    batch[0].tensor().matmul(torch::zeros({3, 1}));
  };
  TinyData data;
  data.has_validation = true;
  Trainer trainer(quiet({.max_epochs = 1, .num_sanity_val_steps = 0}));
  EXPECT_THAT(thrown_text<ModelError>([&] { trainer.fit(model, data); }),
              AllOf(HasSubstr("[validation_step] epoch 0, batch 0, step 1"), HasSubstr("4x1 and 3x1")));
}

TEST(FitLoopErrorsTest, OutOfMemoryPassesThroughUnchanged) {
  TinyModel model([](TinyModel& /*m*/, const Batch& /*batch*/, StepContext& /*ctx*/) -> StepOutput {
    throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "too much");
  });
  TinyData data;
  Trainer trainer(quiet({.max_epochs = 1}));
  EXPECT_THROW(trainer.fit(model, data), c10::OutOfMemoryError);
}

TEST(FitLoopErrorsTest, ErrorsOfTheUserPassThroughAndEverythingIsClosed) {
  std::vector<std::string> calls;
  TinyModel model(
      [](TinyModel& /*m*/, const Batch& /*batch*/, StepContext& /*ctx*/) -> StepOutput { throw UserError("mine"); });
  TinyData data;
  Trainer trainer(quiet({.max_epochs = 1}), {.callbacks = {std::make_shared<RecordingCallback>("a", calls),
                                                           std::make_shared<RecordingCallback>("b", calls)}});
  EXPECT_EQ(thrown_text<UserError>([&] { trainer.fit(model, data); }), "mine");
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "a.on_exception"), 1);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "b.on_exception"), 1);
  EXPECT_EQ(calls.back(), "b.on_exception");
  EXPECT_EQ(data.num_teardowns, 1);
}

TEST(FitLoopErrorsTest, ErrorsOfCallbacksEndTheFit) {
  std::vector<std::string> calls;
  TinyModel model;
  TinyData data;
  const auto callback = std::make_shared<HookCallback>();
  callback->epoch_end = [](const RunContext& /*run*/) { throw UserError("callback"); };
  Trainer trainer(quiet({.max_epochs = 1}), {.callbacks = {callback, std::make_shared<RecordingCallback>("a", calls)}});
  EXPECT_EQ(thrown_text<UserError>([&] { trainer.fit(model, data); }), "callback");
  EXPECT_EQ(calls.back(), "a.on_exception");
}

TEST(FitLoopErrorsTest, ErrorsInAnEvaluationReachTheCallbacksOnce) {
  std::vector<std::string> calls;
  TinyModel model;
  model.on_validation = [](const Batch& /*batch*/, StepContext& /*ctx*/) { throw UserError("mine"); };
  TinyData data;
  data.has_validation = true;
  Trainer trainer(quiet({.max_epochs = 1}), {.callbacks = {std::make_shared<RecordingCallback>("a", calls)}});
  EXPECT_EQ(thrown_text<UserError>([&] { trainer.validate(model, data); }), "mine");
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "a.on_exception"), 1);
  EXPECT_EQ(thrown_text<UserError>([&] { trainer.fit(model, data); }), "mine");
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "a.on_exception"), 2);
  EXPECT_EQ(data.num_teardowns, 2);
  EXPECT_TRUE(model.is_training());
}

TEST(FitLoopErrorsTest, AFitAfterAFailedOneWorks) {
  bool fails = true;
  TinyModel model([&](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) -> StepOutput {
    if (fails) throw UserError("once");
    return m.loss(batch);
  });
  TinyData data;
  Trainer trainer(quiet({.max_epochs = 1}));
  EXPECT_THROW(trainer.fit(model, data), UserError);
  fails = false;
  EXPECT_EQ(trainer.fit(model, data).num_steps, 1);
  EXPECT_NEAR(model.weight(), 0.30, 1e-6);
}

TEST(FitLoopErrorsTest, MissingStepsAndOptimizersAreNamed) {
  struct Bare : LightningModule {
    Bare() : LightningModule("Bare") { w = register_parameter("w", torch::zeros({1, 1})); }
    StepOutput training_step(const Batch& batch, StepContext& /*ctx*/) override {
      return batch[0].tensor().matmul(w).sum();
    }
    at::Tensor w;
  };
  Bare model;
  TinyData data;
  data.has_validation = true;
  Trainer trainer(quiet({.max_epochs = 1}));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.fit(model, data); }),
              AllOf(HasSubstr("Bare has no optimizer"), HasSubstr("TrainerParts::optimizer")));
  TrainerParts parts;
  parts.optimizer = [](std::vector<at::Tensor> parameters) -> Optimizers {
    return std::make_unique<torch::optim::SGD>(std::move(parameters), 0.01);
  };
  Trainer with_optimizer(quiet({.max_epochs = 1}), parts);
  EXPECT_THAT(thrown_text<ConfigError>([&] { with_optimizer.fit(model, data); }),
              HasSubstr("Bare does not override validation_step"));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.test(model, data); }), HasSubstr("test_step"));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.predict(model, data); }), HasSubstr("predict_step"));
}

TEST(FitLoopErrorsTest, MissingLoadersAreNamed) {
  struct NoData : LightningDataModule {};
  TinyModel model;
  NoData data;
  Trainer trainer(quiet({.max_epochs = 1}));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.fit(model, data); }), HasSubstr("train_dataloader()"));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.validate(model, data); }), HasSubstr("val_dataloader()"));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.test(model, data); }), HasSubstr("test_dataloader()"));
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.predict(model, data); }), HasSubstr("predict_dataloader()"));
}

}  // namespace
}  // namespace levin
