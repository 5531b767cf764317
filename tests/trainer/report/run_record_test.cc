#include "trainer/report/run_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"

namespace levin {
namespace {

RunRecord full_record() {
  RunRecord record;
  record.experiment = "gpt";
  record.version = 3;
  record.status = RunStatus::kStoppedEarly;
  record.start_time = "2026-01-31T23:59:59Z";
  record.end_time = "2026-02-01T01:00:00Z";
  record.command_line = "levin fit --config gpt.yaml";
  record.seed = std::numeric_limits<uint64_t>::max();
  record.num_epochs = 2;
  record.num_steps = 1000;
  record.num_samples = int64_t{1} << 40;
  record.peak_memory_bytes = int64_t{1} << 37;
  record.environment = "Levin  0.1.0\nLibTorch  2.11.0\n";
  record.hyper_parameters = {{"lr", "1e-3"}, {"width", "128"}};
  record.model = {{"fc", "Linear", "[B, 10]", 1290, 5160}, {"norm", "LayerNorm", "", 20, 80}};
  record.time_split = {{"forward", 1.5, 0.75}, {"backward", 0.5, 0.25}};
  record.best_checkpoint = "checkpoints/best";
  record.monitor = "val_acc";
  record.best_score = 0.91;
  record.error = "line 1\nline \"2\"";
  record.sections = {{"Learning-rate finder", "Suggests 1e-3.", ReportTable{{"a", "b"}, {{"1", "2"}, {"3"}}},
                      ReportCurve{"lr", "loss", {1e-4, 1e-3}, {2.0, 1.0}, true, 1e-3}},
                     {"Empty", "", std::nullopt, std::nullopt}};
  return record;
}

TEST(RunRecordTest, ReadsBackWhatWasWritten) {
  const TestFolder folder;
  write_run_record(folder.path(), full_record());
  EXPECT_EQ(read_run_record(folder.path()), full_record());
}

TEST(RunRecordTest, WhatIsNotKnownIsNotWritten) {
  const TestFolder folder;
  write_run_record(folder.path(), {});
  EXPECT_EQ(nlohmann::json::parse(read_bytes(folder / "run.json")), nlohmann::json({{"status", "running"}}));
  EXPECT_EQ(read_run_record(folder.path()), RunRecord{});
}

TEST(RunRecordTest, EachStatusHasAName) {
  const TestFolder folder;
  const std::vector<std::pair<RunStatus, std::string>> statuses = {{RunStatus::kRunning, "running"},
                                                                   {RunStatus::kFinished, "finished"},
                                                                   {RunStatus::kStoppedEarly, "stopped early"},
                                                                   {RunStatus::kInterrupted, "interrupted"},
                                                                   {RunStatus::kFailed, "failed"}};
  for (const auto& [status, name] : statuses) {
    EXPECT_EQ(run_status_name(status), name);
    write_run_record(folder.path(), {.status = status});
    EXPECT_EQ(read_run_record(folder.path())->status, status) << name;
  }
}

TEST(RunRecordTest, ReplacesTheFileAndLeavesNothingBeside) {
  const TestFolder folder;
  write_run_record(folder.path(), full_record());
  write_run_record(folder.path(), {.experiment = "other"});
  EXPECT_EQ(read_run_record(folder.path())->experiment, "other");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"run.json"});
}

TEST(RunRecordTest, NumbersMayBeNotFinite) {
  const TestFolder folder;
  RunRecord record;
  const double inf = std::numeric_limits<double>::infinity();
  record.best_score = std::numeric_limits<double>::quiet_NaN();
  record.sections = {{.title = "t", .curve = ReportCurve{.x = {1, 2, 3}, .y = {inf, -inf, 0.1}}}};
  write_run_record(folder.path(), record);
  const auto read = read_run_record(folder.path());
  EXPECT_TRUE(std::isnan(read->best_score.value()));
  EXPECT_EQ(read->sections, record.sections);
}

TEST(RunRecordTest, TextsThatAreNotUtf8AreWrittenAllTheSame) {
  const TestFolder folder;
  write_run_record(folder.path(), {.error = "bad \xFF byte"});
  EXPECT_EQ(read_run_record(folder.path())->error, "bad \xEF\xBF\xBD byte");
}

TEST(RunRecordTest, NoFileIsNoRecord) {
  const TestFolder folder;
  EXPECT_EQ(read_run_record(folder.path()), std::nullopt);
}

TEST(RunRecordTest, UnknownKeysAndNullsAreSkipped) {
  const TestFolder folder;
  write_bytes(folder / "run.json", R"({"status": "failed", "new_key": [1], "seed": null, "error": "e"})");
  EXPECT_EQ(read_run_record(folder.path()), (RunRecord{.status = RunStatus::kFailed, .error = "e"}));
}

std::string read_error(const std::string& text) {
  const TestFolder folder;
  write_bytes(folder / "run.json", text);
  std::string error = error_text<DataError>([&] { read_run_record(folder.path()); });
  const std::string path = (folder / "run.json").string();
  const size_t at = error.find(path);
  return at == std::string::npos ? error : error.replace(at, path.size(), "F");
}

TEST(RunRecordTest, DamagedFilesAreErrorsThatNameTheField) {
  EXPECT_THAT(read_error("{\"status\": \"fini"), testing::StartsWith("[RunRecord] F is no JSON: "));
  EXPECT_THAT(read_error(""), testing::StartsWith("[RunRecord] F is no JSON: "));
  EXPECT_EQ(read_error("[]"), "[RunRecord] F: must be an object, got [].");
  EXPECT_EQ(read_error(R"({"seed": "one"})"), "[RunRecord] F: seed must be a whole number, got \"one\".");
  EXPECT_EQ(read_error(R"({"seed": -1})"), "[RunRecord] F: seed must be a whole number, got -1.");
  EXPECT_EQ(read_error(R"({"error": 3})"), "[RunRecord] F: error must be a text, got 3.");
  EXPECT_EQ(read_error(R"({"best_score": "high"})"), "[RunRecord] F: best_score must be a number, got \"high\".");
  EXPECT_EQ(read_error(R"({"status": "done"})"),
            "[RunRecord] F: status must be running, finished, stopped early, interrupted or failed, got \"done\".");
  EXPECT_EQ(read_error(R"({"model": [{"name": "a"}, 3]})"), "[RunRecord] F.model[1]: must be an object, got 3.");
  EXPECT_EQ(read_error(R"({"hyper_parameters": [["a"]]})"),
            "[RunRecord] F.hyper_parameters[0] must be a list of a name and a value.");
  EXPECT_EQ(read_error(R"({"sections": [{"curve": {"x": [1], "y": []}}]})"),
            "[RunRecord] F.sections[0].curve must have as many x as y, got 1 and 0.");
}

TEST(RunRecordTest, UnequalCurveIsAnErrorAndKeepsTheOldFile) {
  const TestFolder folder;
  write_run_record(folder.path(), {.experiment = "old"});
  RunRecord record;
  record.sections = {{.title = "t", .curve = ReportCurve{.x = {1}, .y = {}}}};
  EXPECT_EQ(error_text<ConfigError>([&] { write_run_record(folder.path(), record); }),
            "[RunRecord] the curve of the section \"t\" must have as many x as y, got 1 and 0.");
  EXPECT_EQ(read_run_record(folder.path())->experiment, "old");
}

TEST(RunRecordTest, FolderThatIsNotThereIsAnError) {
  const std::string error = error_text<OutputError>([] { write_run_record("/nowhere/run", {}); });
  EXPECT_EQ(error, "cannot write /nowhere/run/run.json: No such file or directory.");
}

TEST(RunRecordTest, TimesAreUtc) {
  EXPECT_EQ(utc_time(std::chrono::system_clock::from_time_t(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_time(std::chrono::system_clock::from_time_t(1'769'903'999)), "2026-01-31T23:59:59Z");
}

}  // namespace
}  // namespace levin
