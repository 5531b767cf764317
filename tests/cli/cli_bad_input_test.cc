#include <gmock/gmock.h>

#include "tests/cli/cli_fixture.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kFailed = 1;
constexpr int kWrongConfiguration = 2;

class CliBadInputTest : public CliTest {
 protected:
  /// The whole of stderr is this text, and no folder is left.
  void expect_error(const CliResult& result, int exit_code, const std::string& text) const {
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_EQ(result.err, "levin: " + text + "\n");
    EXPECT_FALSE(fs::exists(root())) << "a run folder is left";
  }
  void expect_fit_error(const std::vector<std::string>& more, int exit_code, const std::string& text) const {
    expect_error(levin_with_config("fit", more), exit_code, text);
  }
  /// As expect_fit_error, with `from` replaced by `to` in the configuration.
  void expect_config_error(const std::string& from, const std::string& to, const std::string& text) const {
    std::string yaml = read_text(config());
    const size_t begin = yaml.find(from);
    ASSERT_NE(begin, std::string::npos);
    write_text(config(), yaml.replace(begin, from.size(), to));
    expect_fit_error({}, kWrongConfiguration, text);
  }
  std::string line(int number) const { return config().string() + ":" + std::to_string(number); }
  fs::path train_images() const { return data() / "train-images-idx3-ubyte.gz"; }
  fs::path train_labels() const { return data() / "train-labels-idx1-ubyte.gz"; }

  /// A checkpoint outside of root(), which is gone again.
  fs::path make_checkpoint() const {
    EXPECT_EQ(levin_with_config("fit", {"--trainer.max_steps", "1"}).exit_code, 0);
    const fs::path checkpoint = folder() / "checkpoint";
    fs::copy(run(0) / "checkpoints" / fs::read_symlink(run(0) / "checkpoints" / "last"), checkpoint,
             fs::copy_options::recursive);
    fs::remove_all(root());
    return checkpoint;
  }
};

TEST_F(CliBadInputTest, MissingDataFolder) {
  const std::string folder = this->folder() / "nowhere";
  const CliResult result = levin_with_config("fit", {"--data.dir", folder});
  EXPECT_EQ(result.exit_code, kFailed);
  EXPECT_THAT(result.err, testing::StartsWith("levin: [FashionMnistData] there is no folder " + folder + "."));
  EXPECT_FALSE(fs::exists(root()));
}

TEST_F(CliBadInputTest, MissingDataFile) {
  fs::remove(train_images());
  const CliResult result = levin_with_config("fit");
  EXPECT_EQ(result.exit_code, kFailed);
  EXPECT_EQ(result.err, "levin: [GzipFile] cannot open " + train_images().string() + ": No such file or directory.\n");
  EXPECT_FALSE(fs::exists(root()));
}

TEST_F(CliBadInputTest, CutImageFile) {
  fs::resize_file(train_images(), fs::file_size(train_images()) / 2);
  const CliResult result = levin_with_config("fit");
  EXPECT_EQ(result.exit_code, kFailed);
  EXPECT_THAT(result.err,
              HasSubstr(train_images().string() + " is cut off or damaged: the data of shape [64, 28, 28]"));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1);
  EXPECT_FALSE(fs::exists(root()));
}

TEST_F(CliBadInputTest, LabelFileOfAnotherLength) {
  write_labels(train_labels(), 63);
  expect_fit_error({}, kFailed,
                   "[IdxImageDataset] " + train_images().string() + " has 64 images, but " + train_labels().string() +
                       " has 63 labels.");
}

TEST_F(CliBadInputTest, WrongKey) {
  expect_config_error(
      "max_epochs:", "max_epoch:", line(3) + ": unknown key \"trainer.max_epoch\"; did you mean \"max_epochs\"?");
}

TEST_F(CliBadInputTest, WrongKeyOfAClass) {
  expect_config_error(
      "hidden_size:", "hiden_size:", line(10) + ": unknown key \"model.hiden_size\"; did you mean \"hidden_size\"?");
}

TEST_F(CliBadInputTest, WrongType) {
  expect_config_error("max_epochs: 2", "max_epochs: two",
                      line(3) + ": trainer.max_epochs must be an integer, got \"two\"");
}

TEST_F(CliBadInputTest, ValueOutOfRange) {
  expect_config_error("batch_size: 16", "batch_size: 0", line(13) + ": data.batch_size must be >= 1, got 0");
}

TEST_F(CliBadInputTest, DoubledKey) {
  expect_config_error("hidden_size: 16", "hidden_size: 16\n  hidden_size: 32",
                      line(11) + ": the key \"hidden_size\" stands twice, first in line 10.");
}

TEST_F(CliBadInputTest, UnknownPrecision) {
  expect_config_error("max_epochs: 2", "precision: fp61",
                      line(3) + ": trainer.precision must be one of: 32-true, 64-true, got fp61");
}

TEST_F(CliBadInputTest, UnregisteredClass) {
  expect_config_error("class: FashionMnistClassifier", "class: Gpt",
                      line(9) + ": model: there is no model called \"Gpt\"; known: FashionMnistClassifier");
}

TEST_F(CliBadInputTest, MissingSection) {
  expect_config_error("model:\n  class: FashionMnistClassifier\n  hidden_size: 16\n", "",
                      config().string() + ": the section \"model\" is missing: name a class in it");
}

TEST_F(CliBadInputTest, InvalidYaml) {
  expect_config_error("seed: 1\n", "seed: 1\n  more: 2\n", line(2) + ": this is not valid YAML: illegal map value.");
}

TEST_F(CliBadInputTest, EverythingThatIsWrongIsListed) {
  expect_fit_error({"--trainer.max_epoch", "3", "--model.dropout", "2", "--optimizer.lr", "\"1\""}, kWrongConfiguration,
                   "option --trainer.max_epoch: unknown key \"trainer.max_epoch\"; did you mean \"max_epochs\"?\n"
                   "option --model.dropout: model.dropout must be between 0 and 1, got 2\n"
                   "option --optimizer.lr: optimizer.lr must be a number, got the text \"1\"");
}

TEST_F(CliBadInputTest, MissingConfiguration) {
  expect_error(levin({"fit", "--config", "/nowhere/a.yaml"}), kWrongConfiguration,
               "cannot open the configuration /nowhere/a.yaml: No such file or directory.");
  expect_error(levin({"fit"}), kWrongConfiguration, "fit needs a configuration: --config FILE.");
}

TEST_F(CliBadInputTest, EmptyConfiguration) {
  write_text(config(), "");
  expect_fit_error({}, kWrongConfiguration, config().string() + ": a configuration must be a map, got nothing.");
}

TEST_F(CliBadInputTest, RunFolderBelowAFile) {
  const fs::path file = folder() / "file";
  write_text(file, "x");
  expect_fit_error({"--trainer.default_root_dir", file}, kWrongConfiguration,
                   "[RunFolder] cannot write the run folder " + file.string() +
                       "/runs: Not a directory. Set trainer.default_root_dir to a folder that can be written.");
  EXPECT_EQ(read_text(file), "x");
}

TEST_F(CliBadInputTest, RunFolderInProc) {
  expect_fit_error({"--trainer.default_root_dir", "/proc/nope"}, kWrongConfiguration,
                   "[RunFolder] cannot write the run folder /proc/nope: No such file or directory. Set "
                   "trainer.default_root_dir to a folder that can be written.");
}

TEST_F(CliBadInputTest, MoreDevicesThanTheStrategyUses) {
  expect_fit_error({"--trainer.devices", "2"}, kWrongConfiguration,
                   "option --trainer.devices: trainer: 2 devices are asked for, but strategy \"auto\" uses exactly 1");
}

TEST_F(CliBadInputTest, CudaWhereThereIsNone) {
  if (levin({"env"}).value("devices") != "0 CUDA devices") GTEST_SKIP() << "there is a CUDA device";
  const CliResult result = levin_with_config("fit", {"--trainer.accelerator", "cuda"});
  EXPECT_EQ(result.exit_code, kWrongConfiguration);
  EXPECT_THAT(result.err, HasSubstr("this build on this machine has 0"));
  EXPECT_THAT(result.err, HasSubstr("Set accelerator to \"cpu\", or see `levin env`."));
  EXPECT_FALSE(fs::exists(root()));
}

TEST_F(CliBadInputTest, ShapesThatDoNotFitTheModel) {
  const fs::path small = folder() / "small";
  write_data(small, 20);
  expect_fit_error({"--data.dir", small, "--trainer.num_sanity_val_steps", "0"}, kFailed,
                   "[training_step] epoch 0, batch 0, step 0: mat1 and mat2 shapes cannot be multiplied (16x1600 and "
                   "3136x16). The batch is [float32 [16, 1, 20, 20], int64 [16]].");
}

TEST_F(CliBadInputTest, EarlierRunsStayWhenARunFails) {
  ASSERT_EQ(levin_with_config("fit", {"--trainer.max_steps", "1"}).exit_code, 0);
  write_data(data(), 20);
  EXPECT_EQ(levin_with_config("fit").exit_code, kFailed);
  EXPECT_TRUE(fs::exists(run(0) / "checkpoints" / "last" / "model.safetensors"));
  EXPECT_FALSE(fs::exists(run(1)));
}

TEST_F(CliBadInputTest, ShapesThatDoNotFitTheModelInATest) {
  const fs::path checkpoint = make_checkpoint();
  write_data(data(), 20);
  const CliResult result = levin_with_config("test", {"--checkpoint", checkpoint});
  EXPECT_EQ(result.exit_code, kFailed);
  EXPECT_THAT(result.err, HasSubstr("[test_step]"));
  EXPECT_THAT(result.err, HasSubstr("(32x1600 and 3136x16). The batch is [float32 [32, 1, 20, 20], int64 [32]]."));
  EXPECT_FALSE(fs::exists(root()));
}

TEST_F(CliBadInputTest, NoCheckpointToTest) {
  expect_error(levin_with_config("test"), kFailed,
               "no run in " + (root() / "runs" / "tiny").string() +
                   " has a checkpoint \"best\". Train first with `levin fit`, or name another one: --checkpoint last, "
                   "or --checkpoint FOLDER.");
  expect_error(levin_with_config("test", {"--checkpoint", "/nowhere"}), kFailed,
               "there is no checkpoint folder /nowhere.");
}

TEST_F(CliBadInputTest, DamagedCheckpoint) {
  const fs::path checkpoint = make_checkpoint();
  std::string bytes = read_text(checkpoint / "model.safetensors");
  bytes[bytes.size() - 100] ^= 1;
  write_text(checkpoint / "model.safetensors", bytes);
  const CliResult result = levin_with_config("test", {"--checkpoint", checkpoint});
  EXPECT_EQ(result.exit_code, kFailed);
  EXPECT_THAT(result.err, HasSubstr(checkpoint.string()));
  EXPECT_THAT(result.err, HasSubstr("model.safetensors has the checksum"));
  EXPECT_FALSE(fs::exists(root()));
}

TEST_F(CliBadInputTest, CheckpointOfAnotherModel) {
  const fs::path checkpoint = make_checkpoint();
  const CliResult result = levin_with_config("test", {"--checkpoint", checkpoint, "--model.hidden_size", "8"});
  EXPECT_EQ(result.exit_code, kFailed);
  for (const char* text : {"network.7.weight ([8, 3136] in the module, [16, 3136] in the checkpoint)",
                           "network.7.bias ([8] in the module, [16] in the checkpoint)",
                           "network.10.weight ([10, 8] in the module, [10, 16] in the checkpoint)"}) {
    EXPECT_THAT(result.err, HasSubstr(text));
  }
  EXPECT_FALSE(fs::exists(root()));
}

TEST_F(CliBadInputTest, FractionThatLeavesNoBatch) {
  expect_fit_error({"--trainer.limit_train_batches", "0.0001"}, kWrongConfiguration,
                   "[Trainer] limit_train_batches = 0.0001 of 4 batches leaves no batch at all. Give at least 0.25, or "
                   "a number of batches.");
}

TEST_F(CliBadInputTest, OutputThatCannotBeWritten) {
  const fs::path checkpoint = make_checkpoint();
  expect_error(levin_with_config("predict", {"--checkpoint", checkpoint, "--output", "p.txt"}), kWrongConfiguration,
               "[predict] the output must end in .safetensors or .csv, got p.txt.");
  for (const std::string file : {"/nowhere/p.csv", "/nowhere/p.safetensors"}) {
    expect_error(levin_with_config("predict", {"--checkpoint", checkpoint, "--output", file}), kWrongConfiguration,
                 "[predict] cannot write " + file + ": there is no folder /nowhere.");
  }
}

TEST_F(CliBadInputTest, OptionOfAnotherCommand) {
  expect_fit_error({"--checkpoint", "best"}, kWrongConfiguration,
                   "--checkpoint is for validate, test and predict, not for fit.");
  expect_fit_error({"--output", "p.csv"}, kWrongConfiguration, "--output is for predict and report, not for fit.");
  expect_fit_error({"test"}, kWrongConfiguration,
                   "fit takes options only, got \"test\". A configuration is given with --config FILE.");
}

TEST_F(CliBadInputTest, UnknownCommandOrOption) {
  expect_error(levin({"fitt"}), kWrongConfiguration, "there is no command \"fitt\"; did you mean \"fit\"?");
  expect_error(
      levin({"optimise"}), kWrongConfiguration,
      "there is no command \"optimise\"; known: fit, validate, test, tune, predict, tokenize, report, list, env");
  expect_error(levin({"fit", "--epochs", "3"}), kWrongConfiguration,
               "unrecognised option '--epochs'. See levin --help.");
}

}  // namespace
}  // namespace levin
