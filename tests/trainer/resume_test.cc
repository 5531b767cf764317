#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "callbacks/early_stopping.h"
#include "callbacks/loggers/csv_logger.h"
#include "callbacks/loggers/json_lines_logger.h"
#include "callbacks/model_checkpoint.h"
#include "tests/callbacks/fake_run.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/schedules/cosine_annealing_lr.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int64_t kBatches = 7;  // of an epoch
constexpr int64_t kEpochs = 3;

struct Stop : std::runtime_error {
  Stop() : std::runtime_error("stopped by the test") {}
};

// Dropout, momentum, a schedule: everything that a resume can get wrong.
struct Model final : LightningModule {
  Model() {
    w = register_parameter("w", torch::full({1, 8}, 0.1));
    seen = register_buffer("seen", torch::zeros({1}));
  }
  StepOutput training_step(const Batch& batch, StepContext& ctx) override {
    seen.add_(1.0);
    const at::Tensor hidden = at::dropout(batch[0].tensor().matmul(w), 0.5, /*train=*/true);
    const at::Tensor loss = at::mse_loss(hidden.sum(1, true), batch[1].tensor());
    ctx.log("train_loss", loss, {.on_step = true, .on_epoch = true});
    return loss;
  }
  void validation_step(const Batch& batch, StepContext& ctx) override {
    // Draws that must not be seen by the training.
    ctx.log("val_loss", at::mse_loss(batch[0].tensor().matmul(w).sum(1, true), batch[1].tensor()) + at::rand({}));
  }
  Optimizers configure_optimizers() override {
    return {std::make_unique<AdamW>(parameters(), AdamWOptions{.lr = 0.05}),
            std::make_shared<CosineAnnealingLR>(CosineAnnealingLR::Options{})};
  }
  at::Tensor w;
  at::Tensor seen;
};

class ResumeTest : public testing::Test {
 protected:
  TrainerOptions options(const fs::path& root) const {
    TrainerOptions options = quiet({.max_epochs = kEpochs,
                                    .val_check_interval = 3,
                                    .accumulate_grad_batches = 2,
                                    .log_every_n_steps = 1,
                                    .seed = 7});
    options.enable_checkpointing = true;
    options.enable_report = false;
    options.default_root_dir = root;
    options.logger = true;
    return options;
  }
  TrainerParts parts() const {
    return {.callbacks = {std::make_shared<ModelCheckpoint>(ModelCheckpoint::Options{.monitor = "val_loss"})},
            .loggers = {std::make_shared<CSVLogger>(), std::make_shared<JSONLinesLogger>()}};
  }
  TinyData data() const {
    TinyData data(2 * kBatches - 1, 2);  // the last batch is short
    data.shuffles = true;
    data.has_validation = true;
    return data;
  }

  struct Outcome {
    at::Tensor w;
    double seen = 0.0;
    std::string csv;
    std::string json;
    Metrics metrics;
    TrainerState state;
  };
  static std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Outcome outcome(const Model& model, const Trainer& trainer) {
    return {model.w.detach().clone(),
            model.seen.item<double>(),
            read(trainer.run_dir() / "metrics.csv"),
            read(trainer.run_dir() / "metrics.jsonl"),
            trainer.metrics(),
            trainer.state()};
  }
  static void expect_equal(const Outcome& found, const Outcome& expected, const std::string& what) {
    EXPECT_TRUE(at::equal(found.w, expected.w)) << what;
    EXPECT_EQ(found.seen, expected.seen) << what;
    EXPECT_EQ(found.csv, expected.csv) << what;
    EXPECT_EQ(found.json, expected.json) << what;
    EXPECT_EQ(found.state.epoch, expected.state.epoch) << what;
    EXPECT_EQ(found.state.global_step, expected.state.global_step) << what;
    EXPECT_EQ(found.state.num_samples, expected.state.num_samples) << what;
    for (const auto& [name, value] : expected.metrics) EXPECT_EQ(found.metrics.find(name), value) << what << name;
  }
  Outcome uninterrupted() const {
    const TemporaryFolder folder;
    Trainer trainer(options(folder.path), parts());
    Model model;
    TinyData all = data();
    trainer.fit(model, all);
    return outcome(model, trainer);
  }

  TemporaryFolder folder_;
};

// Field cases B7, B9, B10: stopped after each micro-batch in turn, also in the middle of a window.
TEST_F(ResumeTest, AfterEveryMicroBatchItEndsAsIfItHadNotBeenStopped) {
  const Outcome expected = uninterrupted();
  for (int64_t stop = 1; stop < kEpochs * kBatches; ++stop) {
    const TemporaryFolder folder;
    {
      const auto callback = std::make_shared<HookCallback>();
      int64_t num_batches = 0;
      callback->batch_end = [&](const RunContext& run, const StepOutput& /*output*/) {
        if (++num_batches == stop) run.control.save_checkpoint(run.run_dir / "checkpoints" / "stop");
        if (num_batches == stop + 1) throw Stop();
      };
      TrainerParts all = parts();
      all.callbacks.push_back(callback);
      Trainer trainer(options(folder.path), all);
      Model model;
      TinyData train = data();
      EXPECT_THROW(trainer.fit(model, train), Stop);
    }
    at::manual_seed(99);  // another process
    Trainer trainer(options(folder.path), parts());
    Model model;
    TinyData train = data();
    trainer.fit(model, train, "last");
    EXPECT_EQ(trainer.run_dir().filename(), "version_0") << stop;
    expect_equal(outcome(model, trainer), expected, fmt::format("stopped after micro-batch {}: ", stop));
    if (HasFailure()) return;
  }
}

// The checkpoints that ModelCheckpoint makes at the end of an epoch, or of a validation.
TEST_F(ResumeTest, FromTheLastCheckpointOfAFailedRun) {
  const Outcome expected = uninterrupted();
  for (const int64_t failing_batch : {5, 9, 15, 20}) {
    const TemporaryFolder folder;
    const auto callback = std::make_shared<HookCallback>();
    int64_t num_batches = 0;
    callback->batch_end = [&](const RunContext& /*run*/, const StepOutput& /*output*/) {
      if (++num_batches == failing_batch) throw Stop();
    };
    TrainerParts all = parts();
    all.callbacks.push_back(callback);
    Trainer failing(options(folder.path), all);
    Model failed;
    TinyData train = data();
    EXPECT_THROW(failing.fit(failed, train), Stop);
    Trainer trainer(options(folder.path), parts());
    Model model;
    TinyData again = data();
    trainer.fit(model, again, "last");
    expect_equal(outcome(model, trainer), expected, fmt::format("failed in micro-batch {}: ", failing_batch));
  }
}

// A fit of 2 epochs that is then given a third one. Its schedule must know the final length from the start.
TEST_F(ResumeTest, AFinishedRunGoesOnWithMoreEpochs) {
  TrainerOptions shorter = options(folder_.path);
  shorter.max_epochs = 2;
  const auto constant = [](Trainer& trainer, Model& model, const std::string& resume) {
    TinyData data(6, 2);
    data.shuffles = true;
    return trainer.fit(model, data, resume);
  };
  const OptimizerFactory sgd = [](std::vector<at::Tensor> parameters) -> Optimizers {
    return std::make_unique<torch::optim::SGD>(std::move(parameters), torch::optim::SGDOptions(0.01).momentum(0.9));
  };
  TrainerParts with_sgd = parts();
  with_sgd.callbacks.clear();
  with_sgd.optimizer = sgd;
  shorter.val_check_interval = 1.0;
  Trainer first(shorter, with_sgd);
  Model model;
  EXPECT_EQ(constant(first, model, "").num_epochs, 2);

  shorter.max_epochs = 3;
  with_sgd.loggers = {std::make_shared<CSVLogger>(), std::make_shared<JSONLinesLogger>()};
  Trainer second(shorter, with_sgd);
  Model resumed;
  EXPECT_EQ(constant(second, resumed, "last").num_epochs, 3);

  const TemporaryFolder other;
  shorter.default_root_dir = other.path;
  with_sgd.loggers = {std::make_shared<CSVLogger>(), std::make_shared<JSONLinesLogger>()};
  Trainer whole(shorter, with_sgd);
  Model expected;
  constant(whole, expected, "");
  expect_equal(outcome(resumed, second), outcome(expected, whole), "");
}

TEST_F(ResumeTest, AutoBeginsAnewWhereThereIsNothing) {
  Trainer trainer(options(folder_.path), parts());
  Model model;
  TinyData train = data();
  EXPECT_EQ(trainer.fit(model, train, "auto").num_epochs, kEpochs);

  const TemporaryFolder empty;
  Trainer other(options(empty.path), parts());
  EXPECT_THAT(thrown_text<CheckpointError>([&] { other.fit(model, train, "last"); }),
              HasSubstr("has a checkpoint to resume from"));
  EXPECT_TRUE(fs::is_empty(empty.path));
}

// Field case B16.
TEST_F(ResumeTest, ADamagedCheckpointIsPassedOverForTheNextOlder) {
  TrainerParts all = parts();
  all.callbacks = {std::make_shared<ModelCheckpoint>(ModelCheckpoint::Options{.save_top_k = -1})};
  Model model;
  TinyData train = data();
  fs::path run_dir;
  {
    Trainer trainer(options(folder_.path), all);
    run_dir = trainer.fit(model, train).run_dir;
  }
  const fs::path newest = fs::canonical(run_dir / "checkpoints" / "last");
  std::fstream(newest / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end)
      << '\x7f';
  all.callbacks = {std::make_shared<ModelCheckpoint>(ModelCheckpoint::Options{.save_top_k = -1})};
  all.loggers = {std::make_shared<CSVLogger>(), std::make_shared<JSONLinesLogger>()};
  Trainer trainer(options(folder_.path), all);
  Model resumed;
  trainer.fit(resumed, train, "last");
  EXPECT_TRUE(at::equal(resumed.w, model.w));
  EXPECT_THAT(thrown_text<CheckpointError>([&] {
                Trainer by_name(options(folder_.path), parts());
                std::ofstream(newest / "state.json") << "{";
                Model other;
                by_name.fit(other, train, newest);
              }),
              HasSubstr(newest.string()));
}

TEST_F(ResumeTest, AnOlderCheckpointBeginsANewFolder) {
  TrainerParts all = parts();
  all.callbacks = {std::make_shared<ModelCheckpoint>(ModelCheckpoint::Options{.save_top_k = -1})};
  Model model;
  TinyData train = data();
  Trainer trainer(options(folder_.path), all);
  const fs::path run_dir = trainer.fit(model, train).run_dir;
  std::vector<fs::path> checkpoints;
  for (const auto& entry : fs::directory_iterator(run_dir / "checkpoints")) {
    if (!entry.is_symlink()) checkpoints.push_back(entry.path());
  }
  std::sort(checkpoints.begin(), checkpoints.end());
  ASSERT_GE(checkpoints.size(), 3u);
  const std::string csv = read(run_dir / "metrics.csv");

  TrainerParts again = parts();
  again.callbacks = {std::make_shared<ModelCheckpoint>(ModelCheckpoint::Options{.save_top_k = -1})};
  Trainer other(options(folder_.path), again);
  Model resumed;
  other.fit(resumed, train, checkpoints[0]);
  EXPECT_EQ(other.run_dir().filename(), "version_1");
  EXPECT_TRUE(at::equal(resumed.w, model.w));
  EXPECT_EQ(read(run_dir / "metrics.csv"), csv);
  for (const auto& [name, value] : trainer.metrics()) EXPECT_EQ(other.metrics().find(name), value) << name;
}

TEST_F(ResumeTest, WeightsOnlyAndOtherModelsAreRefused) {
  TrainerParts all = parts();
  all.callbacks = {std::make_shared<ModelCheckpoint>(ModelCheckpoint::Options{.save_weights_only = true})};
  Trainer trainer(options(folder_.path), all);
  Model model;
  TinyData train = data();
  const fs::path run_dir = trainer.fit(model, train).run_dir;
  Trainer other(options(folder_.path), parts());
  EXPECT_THAT(thrown_text<CheckpointError>([&] { other.fit(model, train, run_dir / "checkpoints" / "last"); }),
              HasSubstr("holds the weights only"));
}

TEST_F(ResumeTest, AModelThatDoesNotFitIsNamedAndNothingIsLost) {
  Trainer trainer(options(folder_.path), parts());
  Model model;
  TinyData train = data();
  const fs::path run_dir = trainer.fit(model, train).run_dir;
  const std::string csv = read(run_dir / "metrics.csv");
  TinyModel tiny;
  Trainer other(options(folder_.path), parts());
  EXPECT_THAT(thrown_text<CheckpointError>([&] { other.fit(tiny, train, "last"); }),
              testing::AllOf(HasSubstr("cannot resume from"), HasSubstr("seen")));
  EXPECT_EQ(read(run_dir / "metrics.csv"), csv);
  EXPECT_FALSE(fs::exists(run_dir.parent_path() / "version_1"));
}

// Killed at any moment between the request and the end, within an epoch and at its end.
TEST_F(ResumeTest, ARunThatWasToEndEndsAsIfItHadNotBeenStopped) {
  for (const int64_t interval : {3, 7}) {
    TrainerOptions stopping = options(folder_.path);
    stopping.val_check_interval = interval;
    const auto all = [this](int64_t patience) {
      TrainerParts made = parts();
      made.callbacks.push_back(std::make_shared<EarlyStopping>(
          EarlyStopping::Options{.monitor = "val_loss", .min_delta = 100.0, .patience = patience}));
      std::reverse(made.callbacks.begin(), made.callbacks.end());  // so that a checkpoint has the request
      return made;
    };
    const auto fit = [&](TrainerParts with, const fs::path& root, const std::string& resume) {
      TrainerOptions here = stopping;
      here.default_root_dir = root;
      Trainer trainer(here, std::move(with));
      Model model;
      TinyData train = data();
      const FitResult result = trainer.fit(model, train, resume);
      return std::pair(result, outcome(model, trainer));
    };
    const TemporaryFolder whole;
    const auto [result, expected] = fit(all(1), whole.path, "");
    EXPECT_EQ(result.status, FitStatus::kStoppedEarly);
    EXPECT_LT(result.num_epochs, kEpochs);

    const TemporaryFolder killed;
    TrainerParts failing = all(1);
    const auto callback = std::make_shared<HookCallback>();
    const int64_t last_epoch = interval == 3 ? 0 : 1;
    callback->epoch_end = [&](const RunContext& run) {
      if (run.state.epoch == last_epoch) throw Stop();
    };
    failing.callbacks.push_back(callback);
    EXPECT_THROW(fit(failing, killed.path, ""), Stop);
    at::manual_seed(99);
    const auto [again, found] = fit(all(1), killed.path, "last");
    EXPECT_EQ(again.status, FitStatus::kStoppedEarly);
    expect_equal(found, expected, fmt::format("validated every {} batches: ", interval));

    // With more patience the request is no more.
    const auto [longer, unused] = fit(all(100), whole.path, "last");
    EXPECT_EQ(longer.status, FitStatus::kFinished);
    EXPECT_EQ(longer.num_epochs, kEpochs);
  }
}

TEST_F(ResumeTest, RequestOfACallbackThatDoesNotAskAgainIsDropped) {
  TrainerParts all = parts();
  const auto callback = std::make_shared<HookCallback>();
  callback->epoch_end = [](const RunContext& run) { run.control.request_stop("one epoch"); };
  all.callbacks.push_back(callback);
  Model model;
  TinyData train = data();
  EXPECT_EQ(Trainer(options(folder_.path), all).fit(model, train).num_epochs, 1);
  const FitResult result = Trainer(options(folder_.path), parts()).fit(model, train, "last");
  EXPECT_EQ(result.num_epochs, kEpochs);
  EXPECT_EQ(result.status, FitStatus::kFinished);
}

// LossGuard asks for it, to go back there.
TEST_F(ResumeTest, TheLastCheckpointIsAtFirstTheOneResumedFrom) {
  TrainerOptions shorter = options(folder_.path);
  shorter.max_epochs = 1;
  Model model;
  TinyData train = data();
  const fs::path run_dir = Trainer(shorter, parts()).fit(model, train).run_dir;
  // Within the run's folder, and from a copy elsewhere, whose logs are not those of the new run.
  const TemporaryFolder elsewhere;
  fs::copy(fs::canonical(run_dir / "checkpoints" / "last"), elsewhere.path / "copy", fs::copy_options::recursive);
  for (const fs::path& checkpoint : {run_dir / "checkpoints" / "last", elsewhere.path / "copy"}) {
    const fs::path expected = fs::canonical(checkpoint);  // the link moves
    const auto callback = std::make_shared<HookCallback>();
    std::optional<fs::path> last;
    int64_t num_batches = 0;
    callback->batch_end = [&](const RunContext& run, const StepOutput& /*output*/) {
      if (++num_batches != 3) return;  // before the first save
      last = run.control.last_checkpoint();
      run.control.go_back_to(*last);
    };
    TrainerParts all = parts();
    all.callbacks.push_back(callback);
    Trainer trainer(options(folder_.path), all);
    Model resumed;
    const FitResult result = trainer.fit(resumed, train, checkpoint);
    EXPECT_EQ(result.num_epochs, kEpochs);
    EXPECT_EQ(last, expected);
    // The row of the step that is given up is dropped; the step comes again.
    const std::string csv = read(trainer.run_dir() / "metrics.csv");
    EXPECT_NE(csv.find("\n4,"), std::string::npos) << csv;
    EXPECT_EQ(csv.find("\n4,"), csv.rfind("\n4,")) << csv;
    // 4 of the first epoch; 1 that is given up, and 2 of the 4 batches that are left; 4 of the third.
    EXPECT_EQ(result.num_steps, 10);
  }
}

TEST_F(ResumeTest, ModuleAndDataGetBackWhatTheyKept) {
  struct Keeping final : TinyModel {
    void on_save_checkpoint(StateDict& extra) override { extra.set("answer", int64_t{42}); }
    void on_load_checkpoint(const StateDict& extra) override { loaded = extra.integer("answer"); }
    int64_t loaded = 0;
  };
  struct KeepingData final : TinyData {
    StateDict state() const override {
      StateDict state;
      state.set("shard", int64_t{3});
      return state;
    }
    void load_state(const StateDict& state) override { shard = state.integer("shard"); }
    int64_t shard = 0;
  };
  TrainerOptions plain = options(folder_.path);
  plain.val_check_interval = 1.0;
  TrainerParts all = parts();
  all.callbacks.clear();
  Keeping model;
  KeepingData train;
  Trainer(plain, all).fit(model, train);
  plain.max_epochs = kEpochs + 1;
  all.loggers = {std::make_shared<CSVLogger>()};
  Keeping resumed;
  KeepingData again;
  EXPECT_EQ(Trainer(plain, all).fit(resumed, again, "last").num_epochs, kEpochs + 1);
  EXPECT_EQ(resumed.loaded, 42);
  EXPECT_EQ(again.shard, 3);
}

}  // namespace
}  // namespace levin
