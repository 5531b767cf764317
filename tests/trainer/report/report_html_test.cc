#include "trainer/report/report_html.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using nlohmann::json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A run with one metric: values at the steps 0, 1, ...
RunData run_of(const std::string& metric, const std::vector<double>& values) {
  RunData run;
  run.name = "gpt/version_0";
  run.folder = "/runs/gpt/version_0";
  MetricSeries series{.name = metric};
  for (size_t i = 0; i < values.size(); ++i) {
    series.steps.push_back(static_cast<int64_t>(i));
    series.epochs.push_back(0);
    series.values.push_back(values[i]);
  }
  run.metrics = {series};
  run.epochs = {{0, 0, static_cast<int64_t>(values.size())}};
  return run;
}

// Compared as a number, since a page is too long to be printed when a test fails.
size_t count(const std::string& text, const std::string& part) {
  size_t number = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
  return number;
}

std::string data_text(const std::string& page) {
  const std::string start = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(start) + start.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

json data_of(const std::vector<RunData>& runs, size_t max_points = 4000) {
  return json::parse(data_text(report_html(runs, {.max_points = max_points})));
}

TEST(ReportHtmlTest, AllMetricsAreInTheData) {
  RunData run = run_of("train_loss", {0.5, 0.25});
  run.metrics.push_back({.name = "val/acc", .steps = {1}, .epochs = {0}, .values = {0.9}});
  const json data = data_of({run});
  ASSERT_EQ(data["runs"].size(), 1u);
  const json& series = data["runs"][0]["series"];
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0]["name"], "train_loss");
  EXPECT_EQ(series[0]["values"], json({0.5, 0.25}));
  EXPECT_EQ(series[1]["name"], "val/acc");
  EXPECT_EQ(series[1]["quantity"], "acc");
  EXPECT_EQ(series[1]["stage"], "val");
  EXPECT_EQ(data["runs"][0]["epochs"], json({{0, 0, 2}}));
}

TEST(ReportHtmlTest, StepsAreDifferencesAndEpochsAreCounted) {
  RunData run = run_of("a", {});
  run.metrics = {{.name = "a", .steps = {49, 99, 100, 250}, .epochs = {0, 0, 1, 2}, .values = {1, 2, 3, 4}}};
  const json series = data_of({run})["runs"][0]["series"][0];
  EXPECT_EQ(series["steps"], json({49, 50, 1, 150}));
  EXPECT_EQ(series["epochs"], json({0, 2, 1, 1, 2, 1}));
}

TEST(ReportHtmlTest, BestAndLastAreFoundAndNanIsNoBest) {
  const json series = data_of({run_of("val_loss", {0.5, 0.123456789012, kNan, 0.75, kNan})})["runs"][0]["series"][0];
  EXPECT_EQ(series["better"], "lower");
  EXPECT_EQ(series["best"], json({{"value", 0.123456789012}, {"step", 1}, {"epoch", 0}}));
  EXPECT_EQ(series["last"]["value"], "nan");
  EXPECT_EQ(series["num_not_finite"], 2);
  EXPECT_EQ(series["first_not_finite"], 2);
  EXPECT_EQ(series["values"], json({0.5, 0.1234568, "nan", 0.75, "nan"}));
}

TEST(ReportHtmlTest, MonitorOfACallbackSaysWhatIsBetter) {
  RunData run = run_of("oddity", {3, 1, 2});
  EXPECT_FALSE(data_of({run})["runs"][0]["series"][0].contains("best"));
  run.settings = {
      {"callbacks[0].class", "ModelCheckpoint"}, {"callbacks[0].monitor", "oddity"}, {"callbacks[0].mode", "min"}};
  EXPECT_EQ(data_of({run})["runs"][0]["series"][0]["best"]["value"], 1);
  run.settings.back().second = "max";
  EXPECT_EQ(data_of({run})["runs"][0]["series"][0]["best"]["value"], 3);
}

TEST(ReportHtmlTest, LongCurvesKeepTheirExtremesAndMeans) {
  std::vector<double> values(100'000, 1.0);
  values[31'415] = 99.0;
  values[92'653] = -99.0;
  const json series = data_of({run_of("loss", values)})["runs"][0]["series"][0];
  EXPECT_EQ(series["count"], 100'000);
  EXPECT_LE(series["values"].size(), 4000u);
  EXPECT_EQ(series["values"].size(), series["steps"].size());
  int64_t step = 0;
  bool has_spike = false;
  for (size_t i = 0; i < series["steps"].size(); ++i) {
    step += series["steps"][i].get<int64_t>();
    if (step == 31'415) has_spike = series["values"][i] == 99.0;
  }
  EXPECT_TRUE(has_spike);
  EXPECT_EQ(step, 99'999);
  EXPECT_EQ(series["lowest"], -99.0);
  EXPECT_EQ(series["best"]["step"], 92'653);
  // 800 stretches of 125 points: index of the first point that is kept, mean.
  ASSERT_EQ(series["means"].size(), 1600u);
  EXPECT_EQ(series["means"][0], 0);
  EXPECT_EQ(series["means"][1], 1);
  EXPECT_EQ(series["means"][2 * (31'415 / 125) + 1], 1.784);  // (124 + 99) / 125
}

TEST(ReportHtmlTest, NothingFromARunIsTakenForMarkup) {
  const std::string evil = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>&lt;";
  RunData run = run_of(evil, {1.0});
  run.name = run.config = evil;
  run.notes = {evil};
  run.settings = {{evil, evil}};
  run.record = RunRecord{.experiment = evil, .error = evil};
  run.record->sections = {{.title = evil, .text = evil}};
  const std::string page = report_html({run});
  for (const char* part : {"alert(1)</script>", "<script>alert", "<img"}) EXPECT_EQ(count(page, part), 0u) << part;
  EXPECT_EQ(count(page, "<script"), 2u);
  EXPECT_EQ(count(page, "</script>"), 2u);
  EXPECT_EQ(count(page, "<title>&lt;/script&gt;"), 1u);
  const json data = json::parse(data_text(page));
  EXPECT_EQ(data["runs"][0]["name"], evil);
  EXPECT_EQ(data["runs"][0]["record"]["error"], evil);
}

TEST(ReportHtmlTest, PlacesOfThePageInTextsOfARunStay) {
  RunData run = run_of("{{script}}", {1.0});
  run.name = "{{data}}";
  const std::string page = report_html({run});
  EXPECT_EQ(count(page, "<title>{{data}}"), 1u);
  EXPECT_EQ(json::parse(data_text(page))["runs"][0]["series"][0]["name"], "{{script}}");
}

TEST(ReportHtmlTest, TextsThatAreNotUtf8GiveValidJson) {
  RunData run = run_of("a\xFF", {1.0});
  EXPECT_EQ(data_of({run})["runs"][0]["series"][0]["name"], "a\xEF\xBF\xBD");
}

TEST(ReportHtmlTest, PageLoadsNothing) {
  const std::string page = report_html({run_of("a", {1.0})});
  EXPECT_EQ(count(page, "http://"), 1u);  // the name of SVG's elements
  EXPECT_EQ(count(page, "http://www.w3.org/2000/svg"), 1u);
  EXPECT_EQ(count(page, "https:"), 0u);
  EXPECT_EQ(count(page, "default-src 'none'"), 1u);
  for (const char* loader : {"src=", "<link", "@import", "url(", "fetch(", "import("}) {
    EXPECT_EQ(count(page, loader), 0u) << loader;
  }
}

TEST(ReportHtmlTest, PageIsSmall) {
  EXPECT_LT(report_html({run_of("a", {})}).size(), 150'000u);
  // Ten metrics, each with 100,000 values.
  RunData run = run_of("m", {});
  for (int m = 0; m < 10; ++m) {
    std::vector<double> values(100'000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0 / (1.0 + static_cast<double>(i * 7919 % 1000) + m);
    run.metrics.push_back(run_of("m" + std::to_string(m), values).metrics[0]);
  }
  EXPECT_LT(report_html({run}).size(), 2'000'000u);
}

TEST(ReportHtmlTest, SeedsKeepAllDigits) {
  RunData run = run_of("a", {1.0});
  run.record = RunRecord{.seed = 18446744073709551615u};
  EXPECT_EQ(data_of({run})["runs"][0]["record"]["seed"], "18446744073709551615");
}

TEST(ReportHtmlTest, SeveralRunsStandInOneReport) {
  RunData other = run_of("b", {1.0});
  other.name = "gpt/version_1";
  const json data = data_of({run_of("a", {1.0}), other});
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["runs"][1]["name"], "gpt/version_1");
}

TEST(ReportHtmlTest, MetricsWithoutAValueAreLeftOut) {
  EXPECT_TRUE(data_of({run_of("a", {})})["runs"][0]["series"].empty());
}

TEST(ReportHtmlTest, NoRunIsAnError) {
  EXPECT_EQ(error_text<ConfigError>([] { report_html({}); }), "[report] a report needs at least one run.");
}

}  // namespace
}  // namespace levin
