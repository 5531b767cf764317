#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>

#include "tests/cli/cli_fixture.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

/// The non-empty cells of one column of a CSV file.
std::vector<std::string> csv_column(const fs::path& file, const std::string& name) {
  std::istringstream lines(read_text(file));
  std::vector<std::string> cells;
  size_t wanted = std::string::npos;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream row(line);
    size_t column = 0;
    const bool is_header = wanted == std::string::npos;
    for (std::string cell; std::getline(row, cell, ','); ++column) {
      if (is_header && cell == name) wanted = column;
      if (!is_header && column == wanted && !cell.empty()) cells.push_back(cell);
    }
    if (is_header && wanted == std::string::npos) return {};
  }
  return cells;
}

std::string weights(const fs::path& run) { return read_text(run / "checkpoints" / "last" / "model.safetensors"); }

TEST_F(CliTest, FitLeavesAWholeRunFolder) {
  const CliResult result = levin_with_config("fit");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.value("run folder"), run(0).string());
  EXPECT_EQ(result.err, "");
  for (const char* name :
       {"config.yaml", "metrics.csv", "checkpoints/best/model.safetensors", "checkpoints/last/model.safetensors"}) {
    EXPECT_TRUE(fs::exists(run(0) / name)) << name;
  }
  EXPECT_EQ(csv_column(run(0) / "metrics.csv", "train_loss").size(), 8u);  // 2 epochs of 64 / 16 batches
  EXPECT_EQ(csv_column(run(0) / "metrics.csv", "val_loss").size(), 2u);
  EXPECT_EQ(csv_column(run(0) / "metrics.csv", "val_acc").size(), 2u);
  EXPECT_NE(result.value("val_acc"), "");
  EXPECT_NE(result.value("train_loss"), "");
}

TEST_F(CliTest, TestOfTheBestCheckpointGivesItsScore) {
  ASSERT_EQ(levin_with_config("fit").exit_code, 0);
  double best = 0.0;
  for (const std::string& cell : csv_column(run(0) / "metrics.csv", "val_acc")) {
    best = std::max(best, std::strtod(cell.c_str(), nullptr));
  }
  const CliResult test = levin_with_config("test");
  ASSERT_EQ(test.exit_code, 0) << test.err;
  EXPECT_EQ(std::strtod(test.value("test_acc").c_str(), nullptr), best);  // k / 32: printed with all digits
  EXPECT_EQ(test.value("checkpoint"),
            (run(0) / "checkpoints" / fs::read_symlink(run(0) / "checkpoints/best")).string());

  const CliResult validate = levin_with_config("validate", {"--checkpoint", "best"});
  ASSERT_EQ(validate.exit_code, 0) << validate.err;
  EXPECT_EQ(std::strtod(validate.value("val_acc").c_str(), nullptr), best);

  const CliResult last = levin_with_config("validate", {"--checkpoint", run(0) / "checkpoints" / "last"});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(std::strtod(last.value("val_acc").c_str(), nullptr),
            std::strtod(csv_column(run(0) / "metrics.csv", "val_acc").back().c_str(), nullptr));
}

TEST_F(CliTest, PredictWritesIntoItsRunFolderOrWhereItIsTold) {
  ASSERT_EQ(levin_with_config("fit", {"--trainer.max_epochs", "1"}).exit_code, 0);
  const CliResult result = levin_with_config("predict");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.value("predictions"), (run(1) / "predictions.safetensors").string());
  EXPECT_THAT(read_text(run(1) / "predictions.safetensors"), HasSubstr("\"probability\":"));

  const fs::path file = folder() / "p.csv";
  const CliResult csv = levin_with_config("predict", {"--output", file});
  ASSERT_EQ(csv.exit_code, 0) << csv.err;
  EXPECT_EQ(csv.value("predictions"), file.string());
  EXPECT_THAT(read_text(file), StartsWith("class,probability_0,probability_1,"));
  EXPECT_EQ(csv_column(file, "class").size(), static_cast<size_t>(kNumTest));
}

TEST_F(CliTest, SavedConfigurationRunAgainGivesTheSameWeights) {
  ASSERT_EQ(levin_with_config("fit").exit_code, 0);
  const CliResult again = levin({"fit", "--config", run(0) / "config.yaml"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  ASSERT_EQ(again.value("run folder"), run(1).string());
  EXPECT_EQ(read_text(run(1) / "config.yaml"), read_text(run(0) / "config.yaml"));
  ASSERT_FALSE(weights(run(0)).empty());
  EXPECT_TRUE(weights(run(1)) == weights(run(0)));
}

TEST_F(CliTest, SeedDecidesTheWeights) {
  for (const char* seed : {"7", "7", "8"}) ASSERT_EQ(levin_with_config("fit", {"--seed", seed}).exit_code, 0);
  ASSERT_FALSE(weights(run(0)).empty());
  EXPECT_TRUE(weights(run(0)) == weights(run(1)));
  EXPECT_FALSE(weights(run(0)) == weights(run(2)));
}

TEST_F(CliTest, DrawnSeedIsSavedAndGivesTheSameWeights) {
  ASSERT_EQ(levin_with_config("fit", {"--seed", "null", "--trainer.max_steps", "2"}).exit_code, 0);
  ASSERT_EQ(levin({"fit", "--config", run(0) / "config.yaml"}).exit_code, 0);
  ASSERT_FALSE(weights(run(0)).empty());
  EXPECT_TRUE(weights(run(0)) == weights(run(1)));
}

TEST_F(CliTest, DoublePrecisionTrains) {
  const CliResult result = levin_with_config("fit", {"--trainer.precision", "64-true", "--trainer.max_steps", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(weights(run(0)), HasSubstr("\"dtype\":\"F64\""));
}

TEST_F(CliTest, LaterFileOverridesAnEarlierOne) {
  const fs::path more = folder() / "more.yaml";
  write_text(more, "trainer: {max_steps: 3}\noptimizer: {class: SGD, lr: 0.1}\n");
  const CliResult result = levin_with_config("fit", {"--config", more});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(csv_column(run(0) / "metrics.csv", "train_loss").size(), 3u);
  EXPECT_THAT(read_text(run(0) / "config.yaml"), HasSubstr("class: SGD\n  lr: 0.1\n"));
}

TEST_F(CliTest, BackboneIsNamedInYamlAndThawed) {
  const fs::path more = folder() / "more.yaml";
  const auto with_backbone = [&](const std::string& names) {
    write_text(more, "callbacks:\n  - class: BackboneFinetuning\n    backbone: " + names +
                         "\n    unfreeze_backbone_at_epoch: 1\n    backbone_initial_ratio_lr: 0.5\n"
                         "  - class: LearningRateMonitor\n");
    return levin_with_config("fit", {"--config", more});
  };
  const CliResult result = with_backbone("[network.0, network.3]");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<double> rates;
  for (const std::string& cell : csv_column(run(0) / "metrics.csv", "lr-AdamW/pg2")) {
    rates.push_back(std::strtod(cell.c_str(), nullptr));
  }
  EXPECT_THAT(rates, testing::ElementsAre(0, 0, 0, 0, 5e-4, 5e-4, 5e-4, 5e-4));
  const CliResult unknown = with_backbone("[network.0, netwok.3]");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("Did you mean \"network\"?"));
  EXPECT_FALSE(fs::exists(run(1)));
}

TEST_F(CliTest, EveryShippedConfigurationTrains) {
  int num_configs = 0;
  for (const auto& file : fs::directory_iterator("configs")) {
    if (file.path().extension() != ".yaml") continue;
    ++num_configs;
    const CliResult result = levin({"fit", "--config", file.path(), "--data.dir", data(), "--trainer.max_steps", "1",
                                    "--trainer.default_root_dir", root()});
    EXPECT_EQ(result.exit_code, 0) << file.path() << ": " << result.err;
    EXPECT_TRUE(fs::exists(root() / "runs" / file.path().stem() / "version_0" / "config.yaml")) << file.path();
  }
  EXPECT_GE(num_configs, 1);
}

TEST_F(CliTest, EnvNamesVersionsAndBackEnds) {
  const CliResult result = levin({"env"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.value("LibTorch"), testing::ContainsRegex("^[0-9]+[.][0-9]+[.][0-9]+"));
  EXPECT_THAT(result.value("process-group back-ends"), HasSubstr("gloo"));
  EXPECT_THAT(result.value("threads"), StartsWith("1 intra-op"));
  for (const char* name : {"Levin", "CUDA", "cuDNN", "NCCL", "devices", "processor features"}) {
    EXPECT_NE(result.value(name), "") << name;
  }
}

TEST_F(CliTest, ListNamesTheClasses) {
  const CliResult result = levin({"list"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.value("model"), "FashionMnistClassifier");
  EXPECT_EQ(
      result.value("data"),
      "CsvData, IdxImageData, ImageFolderData, NumpyData, SafetensorsData, TextData, TokenData, FashionMnistData");
  EXPECT_THAT(result.value("optimizer"), HasSubstr("AdamW"));
  EXPECT_THAT(result.value("precision"), HasSubstr("64-true"));
}

TEST_F(CliTest, VersionAndHelpSucceed) {
  EXPECT_EQ(levin({"--version"}).exit_code, 0);
  EXPECT_THAT(levin({"--version"}).out, testing::MatchesRegex("levin [0-9.]+\n"));
  const CliResult help = levin({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("Usage: levin COMMAND"));
  const CliResult keys = levin({"fit", "--help"});
  EXPECT_EQ(keys.exit_code, 0);
  EXPECT_THAT(keys.out, HasSubstr("trainer.max_epochs: -1"));
  EXPECT_THAT(keys.out, HasSubstr("hidden_size: 128"));
}

TEST_F(CliTest, NoArgumentsShowTheUsage) {
  const CliResult result = levin({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, HasSubstr("Usage: levin COMMAND"));
}

}  // namespace
}  // namespace levin
