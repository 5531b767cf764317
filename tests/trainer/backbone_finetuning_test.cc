// BackboneFinetuning in whole fits.

#include "callbacks/backbone_finetuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <fstream>

#include "callbacks/exponential_moving_average.h"
#include "callbacks/gradient_norm_monitor.h"
#include "callbacks/learning_rate_monitor.h"
#include "callbacks/loggers/csv_logger.h"
#include "tests/callbacks/fake_run.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/optim/adafactor.h"
#include "trainer/optim/adagrad.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/make_optimizer.h"
#include "trainer/optim/rmsprop.h"
#include "trainer/optim/schedules/step_lr.h"
#include "trainer/optim/schedules/warmup_cosine_lr.h"
#include "trainer/optim/sgd.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
namespace nn = torch::nn;
using testing::ElementsAre;
using testing::HasSubstr;

struct Encoder : nn::Module {
  Encoder() {
    linear = register_module("linear", nn::Linear(1, 4));
    norm = register_module("norm", nn::BatchNorm1d(4));
  }
  // [B, 1] -> [B, 4]
  at::Tensor forward(const at::Tensor& x) { return norm->forward(at::tanh(linear->forward(x))); }
  nn::Linear linear = nullptr;
  nn::BatchNorm1d norm = nullptr;
};

// BatchNorm, dropout, momentum, a schedule with warm-up: everything that a thaw or a resume can get wrong.
struct Model : LightningModule {
  Model() {
    encoder = register_module("encoder", std::make_shared<Encoder>());
    head = register_module("head", nn::Linear(4, 1));
  }
  StepOutput training_step(const Batch& batch, StepContext& ctx) override {
    const at::Tensor hidden = encoder->forward(batch[0].tensor());
    const at::Tensor loss = at::mse_loss(head->forward(at::dropout(hidden, 0.25, is_training())), batch[1].tensor());
    ctx.log("train_loss", loss);
    return loss;
  }
  void validation_step(const Batch& batch, StepContext& ctx) override {
    const at::Tensor hidden = encoder->forward(batch[0].tensor());
    ctx.log("val_loss", at::mse_loss(head->forward(hidden), batch[1].tensor()));
  }
  Optimizers configure_optimizers() override {
    return {std::make_unique<AdamW>(parameters(), AdamWOptions{.lr = 0.05, .weight_decay = 0.1}),
            std::make_shared<WarmupCosineLR>(WarmupCosineLR::Options{.warmup_steps = 3})};
  }
  at::Tensor weight() const { return encoder->linear->weight.detach(); }

  std::shared_ptr<Encoder> encoder;
  nn::Linear head = nullptr;
};

std::shared_ptr<Callback> finetuning(int64_t epoch, bool train_bn = true) {
  return std::make_shared<BackboneFinetuning>(BackboneFinetuning::Options{.backbone = {"encoder"},
                                                                          .unfreeze_backbone_at_epoch = epoch,
                                                                          .backbone_initial_ratio_lr = 0.25,
                                                                          .train_bn = train_bn});
}

// Loss = backbone + head, so that a step of SGD takes the rate from each. The main rate is 1 and halves with each step.
struct SumModel : LightningModule {
  struct Part : nn::Module {
    Part() { w = register_parameter("w", torch::zeros({1})); }
    at::Tensor w;
  };
  SumModel() {
    backbone = register_module("backbone", std::make_shared<Part>());
    head = register_module("head", std::make_shared<Part>());
  }
  StepOutput training_step(const Batch& /*batch*/, StepContext& /*ctx*/) override {
    return (backbone->w + head->w).sum();
  }
  Optimizers configure_optimizers() override {
    return {std::make_unique<SGD>(parameters(), SgdOptions{.lr = 1.0}),
            std::make_shared<StepLR>(StepLR::Options{.step_size = 1, .gamma = 0.5})};
  }
  std::shared_ptr<Part> backbone, head;
};

TEST(BackboneFinetuningInFitTest, StepsTakeTheRatesThatAreLogged) {
  const TemporaryFolder folder;
  TrainerOptions options = quiet({.max_epochs = 4, .log_every_n_steps = 1});
  options.logger = true;
  options.enable_report = false;
  options.default_root_dir = folder.path;
  const auto logger = std::make_shared<RecordingLogger>();
  const auto callback = std::make_shared<BackboneFinetuning>(
      BackboneFinetuning::Options{.unfreeze_backbone_at_epoch = 1, .backbone_initial_ratio_lr = 0.25});
  SumModel model;
  TinyData data(2, 1);
  // The monitor comes first in the list, and still sees what this callback sets.
  Trainer(options, {.callbacks = {std::make_shared<LearningRateMonitor>(), callback}, .loggers = {logger}})
      .fit(model, data);
  std::vector<double> main_rates, rates;
  for (const RecordingLogger::Row& row : logger->rows) {
    if (const auto rate = row.metrics.find("lr-SGD/pg1")) main_rates.push_back(*rate);
    if (const auto rate = row.metrics.find("lr-SGD/pg2")) rates.push_back(*rate);
  }
  EXPECT_THAT(main_rates, ElementsAre(1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125));
  EXPECT_THAT(rates, ElementsAre(0, 0, 0.0625, 0.03125, 0.03125, 0.015625, 0.015625, 0.0078125));
  EXPECT_EQ(model.head->w.item<double>(), -1.9921875);
  EXPECT_EQ(model.backbone->w.item<double>(), -0.1640625);
}

TEST(BackboneFinetuningInFitTest, WithoutAScheduleTheMainRateStays) {
  struct Steady : SumModel {
    Optimizers configure_optimizers() override { return std::make_unique<SGD>(parameters(), SgdOptions{.lr = 1.0}); }
  } model;
  const auto callback = std::make_shared<BackboneFinetuning>(
      BackboneFinetuning::Options{.unfreeze_backbone_at_epoch = 1, .backbone_initial_ratio_lr = 0.25});
  TinyData data(2, 1);
  Trainer(quiet({.max_epochs = 4}), {.callbacks = {callback}}).fit(model, data);
  EXPECT_EQ(model.head->w.item<double>(), -8.0);
  EXPECT_EQ(model.backbone->w.item<double>(), -3.5);  // 2 * (1/4 + 1/2 + 1)
}

struct OptimizerCase {
  std::string name;
  OptimizerFactory make;
  bool has_state_from_the_start = false;
};

template <class O>
OptimizerCase own(const std::string& name, typename O::Options options) {
  options.weight_decay = 0.1;
  return {name, [options](const NamedParameters& parameters) -> Optimizers {
            return make_optimizer<O>(parameters, options, {"*.bias"});
          }};
}

template <class O, class Options>
OptimizerCase libtorch(const std::string& name, Options options) {
  options.weight_decay(0.1);
  return {name, [options](std::vector<at::Tensor> parameters) -> Optimizers {
            return std::make_unique<O>(std::move(parameters), options);
          }};
}

std::vector<OptimizerCase> optimizer_cases() {
  std::vector<OptimizerCase> cases = {
      own<SGD>("SGD", {.lr = 0.05, .momentum = 0.9}),
      own<Adam>("Adam", {.lr = 0.05}),
      own<AdamW>("AdamW", {.lr = 0.05}),
      own<RMSprop>("RMSprop", {.lr = 0.05}),
      own<Adagrad>("Adagrad", {.lr = 0.05}),
      own<Lion>("Lion", {.lr = 0.05}),
      own<Adafactor>("Adafactor", {.lr = 0.05}),
      own<Muon>("Muon", {.lr = 0.05}),
      libtorch<torch::optim::SGD>("torch SGD", torch::optim::SGDOptions(0.05).momentum(0.9)),
      libtorch<torch::optim::Adam>("torch Adam", torch::optim::AdamOptions(0.05)),
      libtorch<torch::optim::AdamW>("torch AdamW", torch::optim::AdamWOptions(0.05)),
      libtorch<torch::optim::RMSprop>("torch RMSprop", torch::optim::RMSpropOptions(0.05).momentum(0.9)),
      libtorch<torch::optim::Adagrad>("torch Adagrad", torch::optim::AdagradOptions(0.05)),
  };
  cases.back().has_state_from_the_start = true;
  return cases;
}

// Clipping, norms and weight decay leave frozen parameters alone; state of the optimizer begins with the thaw.
TEST(BackboneFinetuningInFitTest, EveryOptimizerLeavesTheFrozenBackboneAlone) {
  for (const OptimizerCase& each : optimizer_cases()) {
    SCOPED_TRACE(each.name);
    const auto norms = std::make_shared<GradientNormMonitor>(GradientNormMonitor::Options{.per_parameter = true});
    const auto watch = std::make_shared<HookCallback>();
    at::Tensor frozen;  // the weights after the first epoch
    watch->epoch_end = [&](const RunContext& run) {
      const auto& model = dynamic_cast<Model&>(run.module);
      const at::Tensor& parameter = model.encoder->linear->weight;
      const bool is_first = run.state.epoch == 0;
      if (is_first) frozen = model.weight().clone();
      EXPECT_EQ((*run.optimizers)[0].state().count(parameter.unsafeGetTensorImpl()) == 1,
                !is_first || each.has_state_from_the_start);
    };
    Trainer trainer(quiet({.max_epochs = 2, .accumulate_grad_batches = 2, .gradient_clip_val = 0.5, .seed = 5}),
                    {.callbacks = {finetuning(1), norms, watch}, .optimizer = each.make});
    Model model;
    const at::Tensor initial = model.weight().clone();
    const at::Tensor initial_head = model.head->weight.detach().clone();
    TinyData data(8, 2);
    trainer.fit(model, data);
    EXPECT_TRUE(at::equal(frozen, initial));
    EXPECT_FALSE(at::equal(model.weight(), initial));
    EXPECT_FALSE(at::equal(model.head->weight, initial_head));
  }
}

struct ResumeCase {
  bool train_bn;
  bool accumulate_across_epochs;
};

class BackboneFinetuningResumeTest : public testing::TestWithParam<ResumeCase> {
 protected:
  static constexpr int64_t kThaw = 1, kEpochs = 3, kBatches = 5;  // with windows of 2, the thaw is within one

  struct Outcome {
    std::string csv;
    at::Tensor weight, head, mean;
  };

  TrainerOptions options(const fs::path& root) const {
    TrainerOptions options = quiet({.max_epochs = kEpochs,
                                    .accumulate_grad_batches = 2,
                                    .gradient_clip_val = 0.5,
                                    .log_every_n_steps = 1,
                                    .seed = 7});
    options.accumulate_across_epochs = GetParam().accumulate_across_epochs;
    options.enable_checkpointing = true;
    options.enable_report = false;
    options.default_root_dir = root;
    options.logger = true;
    return options;
  }
  TrainerParts parts() const {
    return {.callbacks = {std::make_shared<ExponentialMovingAverage>(ExponentialMovingAverage::Options{.decay = 0.9}),
                          std::make_shared<LearningRateMonitor>(), finetuning(kThaw, GetParam().train_bn),
                          std::make_shared<GradientNormMonitor>(GradientNormMonitor::Options{.per_parameter = true})},
            .loggers = {std::make_shared<CSVLogger>()}};
  }
  Outcome fit(const fs::path& root, const std::string& resume, const std::shared_ptr<Callback>& extra = nullptr) const {
    TrainerParts all = parts();
    if (extra) all.callbacks.push_back(extra);
    Trainer trainer(options(root), all);
    Model model;
    TinyData data(3 * kBatches, 3);
    data.shuffles = true;
    data.has_validation = true;
    trainer.fit(model, data, resume);
    std::ifstream csv(trainer.run_dir() / "metrics.csv");
    return {{std::istreambuf_iterator<char>(csv), {}},
            model.weight().clone(),
            model.head->weight.detach().clone(),
            model.encoder->norm->running_mean.clone()};
  }
  struct Stop : std::runtime_error {
    Stop() : std::runtime_error("stopped by the test") {}
  };
  // Saves after micro-batch `stop`, and dies in the next one.
  static std::shared_ptr<Callback> killer(int64_t stop) {
    const auto callback = std::make_shared<HookCallback>();
    callback->batch_end = [stop, num_batches = int64_t{0}](const RunContext& run, const StepOutput&) mutable {
      if (++num_batches == stop) run.control.save_checkpoint(run.run_dir / "checkpoints" / "stop");
      if (num_batches == stop + 1) throw Stop();
    };
    return callback;
  }
};

TEST_P(BackboneFinetuningResumeTest, FromAnyMicroBatchItEndsAsIfItHadNotBeenStopped) {
  const TemporaryFolder whole;
  const Outcome expected = fit(whole.path, "");
  EXPECT_THAT(expected.csv, HasSubstr("lr-AdamW/pg2"));
  EXPECT_THAT(expected.csv, HasSubstr("grad_norm/encoder.linear.weight"));
  for (int64_t stop = 1; stop < kEpochs * kBatches; ++stop) {
    const TemporaryFolder folder;
    EXPECT_THROW(fit(folder.path, "", killer(stop)), Stop);
    const Outcome found = fit(folder.path, "last");
    EXPECT_TRUE(at::equal(found.weight, expected.weight)) << stop;
    EXPECT_TRUE(at::equal(found.head, expected.head)) << stop;
    EXPECT_TRUE(at::equal(found.mean, expected.mean)) << stop;
    EXPECT_EQ(found.csv, expected.csv) << stop;
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BackboneFinetuningResumeTest,
                         testing::Values(ResumeCase{true, false}, ResumeCase{false, true}),
                         [](const auto& instance) { return instance.param.train_bn ? "TrainBn" : "FrozenBn"; });

TEST(BackboneFinetuningInFitTest, BatchNormOfAFrozenBackboneKeepsItsStatistics) {
  for (const bool train_bn : {true, false}) {
    Trainer trainer(quiet({.max_epochs = 2, .seed = 5}), {.callbacks = {finetuning(2, train_bn)}});
    Model model;
    TinyData data(8, 2);
    data.has_validation = true;  // which puts the mode of each module back
    trainer.fit(model, data);
    EXPECT_EQ(model.encoder->norm->num_batches_tracked.item<int64_t>(), train_bn ? 8 : 0);
    EXPECT_EQ(at::equal(model.encoder->norm->weight, at::ones({4})), !train_bn);
    EXPECT_TRUE(model.encoder->norm->is_training());  // after the fit
    EXPECT_TRUE(model.encoder->linear->weight.requires_grad());
  }
}

TEST(BackboneFinetuningInFitTest, OptimizerOfTheHeadAloneIsAnErrorBeforeTheFirstStep) {
  struct HeadOnly : SumModel {
    Optimizers configure_optimizers() override { return std::make_unique<SGD>(head->parameters()); }
  } model;
  TinyData data(2, 1);
  Trainer trainer(quiet({.max_epochs = 1}), {.callbacks = {std::make_shared<BackboneFinetuning>()}});
  EXPECT_THAT(thrown_text<ConfigError>([&] { trainer.fit(model, data); }), HasSubstr("got none for backbone.w."));
  EXPECT_TRUE(model.backbone->w.requires_grad());
}

}  // namespace
}  // namespace levin
