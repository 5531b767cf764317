#include "trainer/config/run_config.h"

#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/config/yaml.h"
#include "trainer/core/error.h"
#include "trainer/core/lightning_module.h"

namespace levin {
namespace {

struct FakeModule : LightningModule {
  struct Options {
    int64_t hidden_size = 128;
    double dropout = 0.25;
    void visit(OptionVisitor& visitor) {
      visitor.field("hidden_size", hidden_size, "", at_least(1));
      visitor.field("dropout", dropout, "", between(0, 1));
    }
  };
  explicit FakeModule(const Options& options_in) : options(options_in) {}
  StepOutput training_step(const Batch& /*batch*/, StepContext& /*ctx*/) override { return StepOutput::skip(); }

  Options options;
};

struct FakeData : LightningDataModule {};

struct FakeCallback : Callback {
  struct Options {
    std::string text = "3";
    std::optional<double> limit = std::nullopt;
    void visit(OptionVisitor& visitor) {
      visitor.field("text", text, "");
      visitor.field("limit", limit, "");
    }
  };
  explicit FakeCallback(const Options& /*options*/) {}
};

struct FakeLogger : Logger {
  void open(const std::filesystem::path& /*run_dir*/) override {}
  void log_metrics(const Metrics& /*metrics*/, int64_t /*step*/, int64_t /*epoch*/) override {}
  void flush() override {}
};

Registry fake_registry() {
  Registry registry;
  registry.modules.add<FakeModule>("Fake");
  registry.data_modules.add<FakeData>("FakeData");
  registry.callbacks.add<FakeCallback>("FakeCallback");
  registry.loggers.add<FakeLogger>("FakeLogger");
  registry.loggers.add<FakeLogger>("OtherLogger");
  return registry;
}

RunConfig read(const std::string& yaml) { return read_run_config(parse_yaml(yaml, "a.yaml"), fake_registry()); }

std::string read_error(const std::string& yaml) {
  return error_text<ConfigError>([&] { read(yaml); });
}

const std::string kModelAndData = "model: {class: Fake}\ndata: {class: FakeData}\n";

TEST(RunConfigTest, EverythingThatIsWrongIsListedWithItsLine) {
  EXPECT_EQ(read_error("sead: 1\n"
                       "trainer:\n"
                       "  max_epoch: 3\n"
                       "  precision: fp61\n"
                       "  devices: two\n"
                       "model:\n"
                       "  class: Fake\n"
                       "  dropout: 2\n"
                       "optimizer: {class: SGD}\n"
                       "callbacks:\n"
                       "  - class: FakeCalback\n"
                       "  - text: x\n"
                       "logger: sometimes\n"),
            "a.yaml:1: unknown key \"sead\"; did you mean \"seed\"?\n"
            "a.yaml:5: trainer.devices must be an integer, got \"two\"\n"
            "a.yaml:4: trainer.precision must be one of: 32-true, 64-true, got fp61\n"
            "a.yaml:3: unknown key \"trainer.max_epoch\"; did you mean \"max_epochs\"?\n"
            "a.yaml:8: model.dropout must be between 0 and 1, got 2\n"
            "a.yaml: the section \"data\" is missing: name a class in it\n"
            "a.yaml:9: optimizer: there is no optimizer called \"SGD\"; none is registered\n"
            "a.yaml:11: callbacks[0]: there is no callback called \"FakeCalback\"; did you mean \"FakeCallback\"?\n"
            "a.yaml:12: callbacks[1] must name a class: \"class: FakeCallback\"\n"
            "a.yaml:13: logger must be true, false, or name classes: \"logger: {class: CSVLogger}\", got "
            "\"sometimes\"");
}

TEST(RunConfigTest, OptionsOfTheClassesAreRead) {
  const RunConfig config = read("model: {class: Fake, hidden_size: 7}\ndata: FakeData\n");
  EXPECT_EQ(config.model.name, "Fake");
  EXPECT_EQ(std::dynamic_pointer_cast<FakeModule>(config.model.make())->options.hidden_size, 7);
  EXPECT_NE(config.data.make(), nullptr);
  EXPECT_FALSE(config.optimizer.has_value());
  EXPECT_TRUE(config.callbacks.empty());
}

TEST(RunConfigTest, MissingSeedIsDrawnAndSaved) {
  const RunConfig first = read(kModelAndData);
  const RunConfig second = read(kModelAndData);
  ASSERT_TRUE(first.trainer.seed && second.trainer.seed);
  EXPECT_NE(first.trainer.seed, second.trainer.seed);
  EXPECT_EQ(first.yaml.find("seed: " + std::to_string(*first.trainer.seed) + "\n"), 0u) << first.yaml;
  EXPECT_EQ(read(first.yaml).trainer.seed, first.trainer.seed);
}

TEST(RunConfigTest, NullSeedIsDrawn) { EXPECT_TRUE(read("seed: null\n" + kModelAndData).trainer.seed.has_value()); }

TEST(RunConfigTest, GivenSeedIsKept) { EXPECT_EQ(read("seed: 7\n" + kModelAndData).trainer.seed, 7u); }

TEST(RunConfigTest, WrongSeedIsNamed) {
  EXPECT_EQ(read_error("seed: -1\n" + kModelAndData), "a.yaml:1: seed must be an integer >= 0 or null, got \"-1\"");
}

TEST(RunConfigTest, EffectiveYamlReadAgainIsTheSame) {
  for (const std::string more :
       {"", "logger: false\n", "logger: [FakeLogger, {class: OtherLogger}]\n", "callbacks: FakeCallback\n",
        "callbacks: [{class: FakeCallback, text: 'a: b', limit: 1e-9}, FakeCallback]\n",
        "trainer: {limit_train_batches: 1, limit_val_batches: 0.1, experiment_name: '3', default_root_dir: '~'}\n"}) {
    const RunConfig config = read(kModelAndData + more);
    EXPECT_EQ(read(config.yaml).yaml, config.yaml);
  }
}

TEST(RunConfigTest, EffectiveYamlHasTheDefaults) {
  const std::string yaml = read("seed: 1\n" + kModelAndData + "callbacks: [FakeCallback]\n").yaml;
  EXPECT_NE(yaml.find("model:\n  class: Fake\n  hidden_size: 128\n  dropout: 0.25\ndata:\n  class: FakeData\n"
                      "callbacks:\n  - class: FakeCallback\n    text: \"3\"\n    limit: ~\n"),
            std::string::npos)
      << yaml;
  EXPECT_NE(yaml.find("  limit_train_batches: 1.0\n"), std::string::npos) << yaml;
}

struct HalfLr : Schedule {
  double learning_rate(double base_lr, int64_t /*step*/) const override { return base_lr / 2; }
};

TEST(RunConfigTest, SchedulerIsReadAndWrittenBack) {
  Registry registry = fake_registry();
  add_schedule<HalfLr>(registry.schedulers, "HalfLr");
  const auto read_with = [&](const std::string& yaml) { return read_run_config(parse_yaml(yaml, "a.yaml"), registry); };
  EXPECT_FALSE(read_with(kModelAndData).scheduler.has_value());
  const RunConfig config = read_with(kModelAndData + "scheduler: {class: HalfLr, frequency: 2}\n");
  ASSERT_TRUE(config.scheduler.has_value());
  EXPECT_EQ(config.scheduler->make().schedule->learning_rate(1.0, 0), 0.5);
  EXPECT_EQ(config.scheduler->make().frequency, 2);
  EXPECT_NE(config.yaml.find("scheduler:\n  class: HalfLr\n  interval: step\n  frequency: 2\n"), std::string::npos)
      << config.yaml;
  EXPECT_EQ(read_with(config.yaml).yaml, config.yaml);
}

TEST(RunConfigTest, LoggerMayBeSwitchedOff) {
  EXPECT_TRUE(read(kModelAndData).trainer.logger);
  EXPECT_TRUE(read(kModelAndData + "logger: true\n").trainer.logger);
  EXPECT_FALSE(read(kModelAndData + "logger: false\n").trainer.logger);
  EXPECT_TRUE(read(kModelAndData + "logger: false\n").loggers.empty());
}

TEST(RunConfigTest, LoggersMayBeOneOrSeveral) {
  EXPECT_EQ(read(kModelAndData + "logger: {class: FakeLogger}\n").loggers.size(), 1u);
  const RunConfig config = read(kModelAndData + "logger: [FakeLogger, {class: OtherLogger}]\n");
  ASSERT_EQ(config.loggers.size(), 2u);
  EXPECT_EQ(config.loggers[1].name, "OtherLogger");
  EXPECT_TRUE(config.trainer.logger);
}

TEST(RunConfigTest, UnknownLoggerIsNamed) {
  EXPECT_EQ(read_error(kModelAndData + "logger: [Faker]\n"),
            "a.yaml:3: logger[0]: there is no logger called \"Faker\"; known: FakeLogger, OtherLogger");
}

TEST(RunConfigTest, SectionsMustBeThere) {
  EXPECT_EQ(read_error("seed: 1\n"),
            "a.yaml: the section \"model\" is missing: name a class in it\n"
            "a.yaml: the section \"data\" is missing: name a class in it");
}

TEST(RunConfigTest, EmptySectionIsNamedWithItsLine) {
  EXPECT_EQ(read_error("data: FakeData\nmodel: ~\n"), "a.yaml:2: the section \"model\" is missing: name a class in it");
}

TEST(RunConfigTest, SectionOfAnotherKindIsNamed) {
  EXPECT_EQ(read_error(kModelAndData + "trainer: fast\n"), "a.yaml:3: trainer must be a map of options, got \"fast\"");
  EXPECT_EQ(read_error("model: [Fake]\ndata: FakeData\n"), "a.yaml:1: model must name a class: \"class: Fake\"");
}

TEST(RunConfigTest, OptionsThatDoNotFitTogetherAreNamedWhereTheyStand) {
  EXPECT_EQ(read_error(kModelAndData + "trainer:\n  max_epochs: 1\n  devices: 2\n"),
            "a.yaml:5: trainer: 2 devices are asked for, but strategy \"auto\" uses exactly 1");
  EXPECT_EQ(read_error(kModelAndData + "trainer:\n  accelerator: cpu\n  gpus: 1\n"),
            "a.yaml:5: trainer: gpus is 1, but accelerator is \"cpu\"");
  EXPECT_EQ(read_error(kModelAndData + "trainer:\n  max_epochs: 1\n  experiment_name: a/b\n"),
            "a.yaml:5: trainer: experiment_name must be a folder name without \"/\", got \"a/b\"");
}

TEST(RunConfigTest, NameIsRegisteredOnce) {
  Registry registry = fake_registry();
  EXPECT_EQ(error_text<ConfigError>([&] { registry.modules.add<FakeModule>("Fake"); }),
            "[Registry] there is a model called \"Fake\" already.");
}

TEST(RunConfigTest, BuiltInClassesAreThere) {
  Registry registry;
  add_builtin_classes(registry);
  EXPECT_NE(registry.optimizers.find("AdamW"), nullptr);
  for (const char* name : {"SGD", "Adam", "RMSprop", "Adagrad", "LBFGS", "Lion", "Adafactor", "Muon"}) {
    EXPECT_NE(registry.optimizers.find(name), nullptr) << name;
  }
  EXPECT_NE(registry.schedulers.find("OneCycleLR"), nullptr);
  for (const char* callback : {"BackboneFinetuning", "DeviceStats", "GradientAccumulationScheduler",
                               "LearningRateMonitor", "ModelCheckpoint", "PredictionWriter", "Timer"}) {
    EXPECT_NE(registry.callbacks.find(callback), nullptr) << callback;
  }
  for (const char* logger : {"CSVLogger", "JSONLinesLogger", "TensorBoardLogger"}) {
    EXPECT_NE(registry.loggers.find(logger), nullptr) << logger;
  }
}

}  // namespace
}  // namespace levin
