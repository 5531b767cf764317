#include "trainer/config/cli_arguments.h"

#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

std::string parse_error(const std::vector<std::string>& arguments) {
  return error_text<ConfigError>([&] { parse_cli_arguments(arguments); });
}

TEST(CliArgumentsTest, CommandAndFilesAreTaken) {
  const CliArguments arguments = parse_cli_arguments({"fit", "--config", "a.yaml", "--config=b.yaml", "-c", "c.yaml"});
  EXPECT_EQ(arguments.command, "fit");
  EXPECT_EQ(arguments.config_files, (std::vector<std::string>{"a.yaml", "b.yaml", "c.yaml"}));
  EXPECT_TRUE(arguments.overrides.empty());
}

TEST(CliArgumentsTest, OverridesAreWrittenWithASpaceOrAnEqualsSign) {
  const CliArguments arguments = parse_cli_arguments(
      {"--trainer.max_epochs", "3", "fit", "--model.name=a=b", "--seed", "7", "--data.dir=", "--logger=false"});
  EXPECT_EQ(arguments.command, "fit");
  EXPECT_EQ(
      arguments.overrides,
      (Overrides{
          {"trainer.max_epochs", "3"}, {"model.name", "a=b"}, {"seed", "7"}, {"data.dir", ""}, {"logger", "false"}}));
}

TEST(CliArgumentsTest, OverrideMayBeNegative) {
  EXPECT_EQ(parse_cli_arguments({"fit", "--trainer.max_epochs", "-1"}).overrides,
            (Overrides{{"trainer.max_epochs", "-1"}}));
}

TEST(CliArgumentsTest, OtherOptionsAreTaken) {
  const CliArguments arguments = parse_cli_arguments({"predict", "--checkpoint", "last", "-o", "p.csv"});
  EXPECT_EQ(arguments.checkpoint, "last");
  EXPECT_EQ(arguments.output, "p.csv");
  EXPECT_FALSE(arguments.is_help);
  EXPECT_TRUE(parse_cli_arguments({"fit", "-h"}).is_help);
  EXPECT_TRUE(parse_cli_arguments({"--version"}).is_version);
}

TEST(CliArgumentsTest, NothingIsNoError) { EXPECT_EQ(parse_cli_arguments({}).command, ""); }

TEST(CliArgumentsTest, MissingValueIsAnError) {
  EXPECT_EQ(parse_error({"fit", "--trainer.max_epochs"}), "the option --trainer.max_epochs needs a value.");
  EXPECT_EQ(parse_error({"fit", "--config"}),
            "the required argument for option '--config' is missing. See levin --help.");
}

TEST(CliArgumentsTest, AnotherOptionIsNoValue) {
  EXPECT_EQ(parse_error({"fit", "--trainer.max_epochs", "--seed=1"}), "the option --trainer.max_epochs needs a value.");
}

TEST(CliArgumentsTest, UnknownOptionIsAnError) {
  EXPECT_EQ(parse_error({"fit", "--max_epochs", "3"}), "unrecognised option '--max_epochs'. See levin --help.");
}

TEST(CliArgumentsTest, WordsBehindTheCommandArePaths) {
  const CliArguments arguments = parse_cli_arguments({"report", "runs/a", "-o", "a.html", "runs/b"});
  EXPECT_EQ(arguments.command, "report");
  EXPECT_EQ(arguments.paths, (std::vector<std::string>{"runs/a", "runs/b"}));
  EXPECT_EQ(arguments.output, "a.html");
  EXPECT_TRUE(parse_cli_arguments({"fit"}).paths.empty());
}

}  // namespace
}  // namespace levin
