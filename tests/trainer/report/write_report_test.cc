#include "trainer/report/write_report.h"

#include <gmock/gmock.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class WriteReportTest : public testing::Test {
 protected:
  fs::path experiment() const { return folder_.path() / "gpt"; }
  fs::path run(int version) const { return experiment() / ("version_" + std::to_string(version)); }
  void make_run(int version) const {
    fs::create_directories(run(version));
    write_bytes(run(version) / "metrics.csv", "step,epoch,loss\n0,0,1\n");
  }
  static std::string error_of(const fs::path& path) {
    return error_text<ConfigError>([&] { find_runs({path}); });
  }

 private:
  TestFolder folder_;
};

TEST_F(WriteReportTest, ExperimentStandsForItsRunsInOrder) {
  for (const int version : {10, 2, 0}) make_run(version);
  fs::create_directories(run(3));  // a run that has written nothing
  fs::create_directories(experiment() / "version_x");
  EXPECT_THAT(find_runs({experiment()}), ElementsAre(run(0), run(2), run(10)));
}

TEST_F(WriteReportTest, RunThatIsNamedTwiceCountsOnce) {
  make_run(0);
  make_run(1);
  EXPECT_THAT(find_runs({run(1), experiment(), run(1) / ""}), ElementsAre(run(1), run(0)));
}

TEST_F(WriteReportTest, OneRunHasItsReportInItsFolder) {
  make_run(0);
  EXPECT_EQ(write_report({run(0)}), run(0) / "report.html");
  EXPECT_THAT(read_bytes(run(0) / "report.html"), HasSubstr("gpt/version_0"));
  // Made anew, and not taken for a file of the run.
  EXPECT_EQ(write_report({experiment()}), run(0) / "report.html");
}

TEST_F(WriteReportTest, SeveralRunsHaveTheirReportWhereItIsTold) {
  make_run(0);
  make_run(1);
  const fs::path file = experiment() / "both.html";
  EXPECT_EQ(write_report({run(0), run(1)}, file), file);
  EXPECT_THAT(read_bytes(file), testing::AllOf(HasSubstr("gpt/version_0"), HasSubstr("gpt/version_1")));
  EXPECT_FALSE(fs::exists(run(0) / "report.html"));
}

TEST_F(WriteReportTest, OtherPathsAreErrorsThatSayWhatIsMissing) {
  EXPECT_EQ(error_of(experiment()), "there is no folder " + experiment().string() + ".");
  fs::create_directories(run(0));
  EXPECT_THAT(error_of(experiment()), HasSubstr("it has none of run.json, metrics.csv and config.yaml"));
  EXPECT_THAT(error_of(experiment()), HasSubstr("no folder version_<n>"));
  make_run(0);
  EXPECT_THAT(error_of(run(0) / "metrics.csv"), EndsWith("is a file. Name the run folder that it is in."));
  EXPECT_THAT(error_text<ConfigError>([] { write_report({}); }), HasSubstr("at least one run folder"));
}

TEST_F(WriteReportTest, OutputWithoutAFolderIsAnError) {
  make_run(0);
  EXPECT_EQ(error_text<ConfigError>([&] { write_report({run(0)}, "/nowhere/r.html"); }),
            "[report] cannot write /nowhere/r.html: there is no folder /nowhere.");
}

}  // namespace
}  // namespace levin
