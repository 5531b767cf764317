#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// How a run stands or ended.
enum class RunStatus { kRunning, kFinished, kStoppedEarly, kInterrupted, kFailed };

/// "running", "finished", "stopped early", "interrupted" or "failed".
std::string run_status_name(RunStatus status);

/// One row of the table of a model's parts.
struct ModelRow {
  std::string name = {};          ///< "encoder.conv1"; "" or "." for what the model itself holds.
  std::string type = {};          ///< "Conv2d"
  std::string output_shape = {};  ///< "[B, 32, 28, 28]"; "" if not known.
  int64_t parameters = 0;         ///< Number of parameters here and below.
  int64_t bytes = 0;              ///< Their size.
  bool operator==(const ModelRow&) const = default;
};

/// What one part of the training step took, over the whole run.
struct TimeSection {
  std::string name = {};  ///< "data", "forward", "backward", "optimizer", ...
  double seconds = 0.0;
  double share = 0.0;  ///< Of the time of all steps, from 0 to 1.
  bool operator==(const TimeSection&) const = default;
};

/// A table of texts. Rows may be shorter than `columns`.
struct ReportTable {
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};
  bool operator==(const ReportTable&) const = default;
};

/// A curve that is no metric over the steps of the run, such as the loss over the learning rates that a finder tried.
struct ReportCurve {
  std::string x_name = {};
  std::string y_name = {};
  std::vector<double> x = {};
  std::vector<double> y = {};  ///< As long as x; what is not finite is a gap.
  bool is_log_x = false;
  std::optional<double> marked_x = std::nullopt;  ///< Shown as a vertical line: what the finder suggests.
  bool operator==(const ReportCurve&) const = default;
};

/// A section of the report that another part of Levin adds.
struct ReportSection {
  std::string title = {};
  std::string text = {};  ///< One paragraph, or "".
  std::optional<ReportTable> table = std::nullopt;
  std::optional<ReportCurve> curve = std::nullopt;
  bool operator==(const ReportSection&) const = default;
};

/// What is known about a run beside its metrics and its configuration: run.json in the run folder. The run writes it,
/// the report reads it. An empty text or list and a missing number mean "not known": they are not written and not
/// shown.
struct RunRecord {
  std::string experiment = {};
  std::optional<int64_t> version = std::nullopt;
  RunStatus status = RunStatus::kRunning;
  std::string start_time = {};    ///< As of utc_time().
  std::string end_time = {};      ///< Likewise; "" while the run goes on.
  std::string command_line = {};  ///< "" if the run was not started by the `levin` program.
  std::optional<uint64_t> seed = std::nullopt;
  std::optional<int64_t> num_epochs = std::nullopt;   ///< Epochs done.
  std::optional<int64_t> num_steps = std::nullopt;    ///< Optimizer steps done.
  std::optional<int64_t> num_samples = std::nullopt;  ///< Training samples seen, over all epochs and ranks.
  std::optional<int64_t> peak_memory_bytes = std::nullopt;
  std::string environment = {};                                            ///< As of environment_report().
  std::vector<std::pair<std::string, std::string>> hyper_parameters = {};  ///< Name and value, in order.
  std::vector<ModelRow> model = {};
  std::vector<TimeSection> time_split = {};  ///< In the order of the step.
  std::string best_checkpoint = {};          ///< Path, relative to the run folder.
  std::string monitor = {};                  ///< The metric by which it is the best.
  std::optional<double> best_score = std::nullopt;
  std::string error = {};  ///< What ended a run that failed.
  std::vector<ReportSection> sections = {};
  bool operator==(const RunRecord&) const = default;
};

/// "2026-01-31T23:59:59Z"
std::string utc_time(std::chrono::system_clock::time_point time = std::chrono::system_clock::now());

/// Replaces <run_dir>/run.json at once: whoever reads it meanwhile gets the old or the new content whole. Cheap enough
/// for the start, the end of each epoch and the end of a run, not for each step. Bytes that are not UTF-8 are replaced.
/// Errors: OutputError if it cannot be written; ConfigError if a curve's x and y have different lengths.
void write_run_record(const std::filesystem::path& run_dir, const RunRecord& record);

/// Reads <run_dir>/run.json; nothing if there is none. Keys that are not known are skipped, so that a newer file can be
/// read. Errors: DataError if it cannot be read, is no JSON object, or a field has the wrong type; it names the field.
std::optional<RunRecord> read_run_record(const std::filesystem::path& run_dir);

}  // namespace levin
