#include <gmock/gmock.h>

#include "tests/cli/cli_fixture.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A page is too long to be printed when a test fails.
bool has(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

class CliReportTest : public CliTest {
 protected:
  void expect_wrong_usage(const std::vector<std::string>& words, const std::string& text) const {
    const CliResult result = levin(words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(result.out, "");
  }
};

TEST_F(CliReportTest, ReportOfAFitStandsInItsFolder) {
  ASSERT_EQ(levin_with_config("fit").exit_code, 0);
  const CliResult result = levin({"report", run(0)});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const fs::path file = run(0) / "report.html";
  EXPECT_EQ(result.value("report"), file.string());
  const std::string page = read_text(file);
  EXPECT_TRUE(has(page, "<title>tiny/version_0"));
  for (const char* metric : {"train_loss", "val_loss", "val_acc"}) {
    EXPECT_TRUE(has(page, "{\"name\":\"" + std::string(metric) + "\"")) << metric;
  }
  EXPECT_TRUE(has(page, "class: FashionMnistClassifier"));
}

TEST_F(CliReportTest, RunsAreComparedInOneFile) {
  for (const char* lr : {"1e-3", "1e-2"}) {
    ASSERT_EQ(levin_with_config("fit", {"--optimizer.lr", lr, "--trainer.max_steps", "2"}).exit_code, 0);
  }
  const fs::path file = folder() / "both.html";
  const CliResult result = levin({"report", run(0), run(1), "--output", file});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.value("report"), file.string());
  EXPECT_TRUE(has(read_text(file), "\"name\":\"tiny/version_1\""));
  // The folder of the experiment stands for the same runs.
  const fs::path all = folder() / "all.html";
  ASSERT_EQ(levin({"report", run(0).parent_path(), "-o", all}).exit_code, 0);
  EXPECT_TRUE(has(read_text(all), "\"name\":\"tiny/version_1\""));
}

TEST_F(CliReportTest, WrongUsageIsExplained) {
  expect_wrong_usage({"report"}, "report needs at least one run folder: levin report RUN...");
  expect_wrong_usage({"report", data()}, "it has none of run.json, metrics.csv and config.yaml");
  expect_wrong_usage({"report", root()}, "there is no folder " + root().string());
  expect_wrong_usage({"report", config()}, "is a file. Name the run folder that it is in.");
  expect_wrong_usage({"report", data(), "--config", config()}, "report takes run folders and --output FILE");
  expect_wrong_usage({"report", data(), "--checkpoint", "best"}, "--checkpoint is for validate, test and predict");
  EXPECT_THAT(levin({"report", "--help"}).out, HasSubstr("Usage: levin report RUN..."));
}

}  // namespace
}  // namespace levin
