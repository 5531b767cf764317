#include <gmock/gmock.h>

#include <filesystem>

#include "tests/cli/cli_fixture.h"

namespace levin {
namespace {

using testing::HasSubstr;

TEST_F(CliTest, TunePrintsASuggestionAndDrawsIt) {
  const CliResult result = levin_with_config("tune", {"--tuner.learning_rate.num_steps", "60"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(std::stod(result.value("learning rate")), 1e-8);
  EXPECT_THAT(read_text(result.value("report")), HasSubstr("Learning-rate finder"));
  EXPECT_FALSE(std::filesystem::exists(run(0) / "checkpoints"));
}

TEST_F(CliTest, TuneFindsTheBatchSizeThatTheDataHas) {
  const CliResult result = levin_with_config("tune", {"--tuner.batch_size", "true", "--trainer.memory_limit", "2GiB"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.value("batch size"), std::to_string(kNumTrain));
}

TEST_F(CliTest, FitTunesFirstAndSavesTheSection) {
  const CliResult result = levin_with_config("fit", {"--tuner.learning_rate.max_lr=0.5", "--trainer.max_epochs", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(read_text(run(0) / "config.yaml"), HasSubstr("max_lr: 0.5"));
  EXPECT_THAT(read_text(run(0) / "run.json"), HasSubstr("Learning-rate finder"));
}

TEST_F(CliTest, FitSplitsBatchesOnRequest) {
  const CliResult result =
      levin_with_config("fit", {"--trainer.micro_batch_size", "auto", "--trainer.memory_limit", "2GiB"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(levin_with_config("fit", {"--trainer.micro_batch_size", "5"}).exit_code, 0);
}

TEST_F(CliTest, WrongTunerSectionsAreNamedWithTheirPlace) {
  const auto error_of = [&](const std::vector<std::string>& words) {
    const CliResult result = levin_with_config("tune", words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_THAT(error_of({"--tuner.learning_rte", "true"}), HasSubstr("did you mean \"learning_rate\""));
  EXPECT_THAT(error_of({"--tuner.learning_rate", "often"}),
              HasSubstr("tuner.learning_rate must be true, false or a map"));
  EXPECT_THAT(error_of({"--tuner.learning_rate.min_lr", "2"}), HasSubstr("min_lr (2) must be below max_lr (1)"));
  EXPECT_THAT(error_of({"--tuner.batch_size", "true"}), HasSubstr("Set memory_limit"));
  EXPECT_THAT(error_of({"--trainer.micro_batch_size", "few"}),
              HasSubstr("must be a number of samples >= 1, none or auto"));
}

}  // namespace
}  // namespace levin
