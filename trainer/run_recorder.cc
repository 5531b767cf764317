#include "trainer/run_recorder.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <utility>

#include "callbacks/model_checkpoint.h"
#include "callbacks/model_summary.h"
#include "trainer/config/environment_report.h"
#include "trainer/report/write_report.h"

namespace levin {
namespace {

constexpr int64_t kModelDepth = 3;

bool has_record(const Run& run) { return run.folder && run.parts.strategy->communicator().rank() == 0; }

std::optional<int64_t> version_of(const std::filesystem::path& run_dir) {
  const std::string name = run_dir.filename().string();
  int64_t version = 0;
  const char* end = name.data() + name.size();
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const auto [stop, error] = std::from_chars(name.data() + digits, end, version);
  return error == std::errc() && stop == end ? std::optional(version) : std::nullopt;
}

// The most that this process ever held: VmHWM of Linux, in KiB there.
std::optional<int64_t> peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return std::nullopt;
}

std::vector<ModelRow> model_rows(const LightningModule& module) {
  std::vector<ModelRow> rows;
  for (SummaryRow& row : summary_rows(module, kModelDepth)) {
    rows.push_back({.name = std::move(row.name),
                    .type = std::move(row.type),
                    .output_shape = {},
                    .parameters = row.parameters,
                    .bytes = row.bytes});
  }
  return rows;
}

std::string to_text(const StateDict::Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "a tensor";
}

void note_best(Run& run) {
  for (const auto& callback : run.parts.callbacks) {
    const auto* checkpoint = dynamic_cast<const ModelCheckpoint*>(callback.get());
    if (checkpoint == nullptr || checkpoint->best_model_path().empty()) continue;
    run.record.best_checkpoint = checkpoint->best_model_path().lexically_relative(run.folder_path()).string();
    run.record.monitor = checkpoint->monitor();
    run.record.best_score = checkpoint->best_model_score();
    return;
  }
}

void note_position(Run& run) {
  run.record.num_epochs = run.state.epoch;
  run.record.num_steps = run.state.global_step;
  run.record.num_samples = run.state.num_samples;
  run.record.peak_memory_bytes = peak_memory();
  note_best(run);
}

std::string thread_line(const IntraOpThreads& threads) {
  return fmt::format("{:<24} {}: {}\n", "intra-op threads", threads.count, threads.reason);
}

}  // namespace

void start_record(Run& run, const LightningModule& module) {
  if (!has_record(run)) return;
  const std::filesystem::path& run_dir = run.folder->path();
  const std::optional<RunRecord> older = read_run_record(run_dir);
  run.record = {.experiment = run.options.experiment_name,
                .version = version_of(run_dir),
                .status = RunStatus::kRunning,
                .start_time = older ? older->start_time : utc_time(),
                .command_line = run.parts.command_line,
                .seed = run.seed,
                .environment = environment_report() + thread_line(run.intra_op_threads),
                .model = model_rows(module),
                .sections = older ? older->sections : std::vector<ReportSection>()};
  for (const auto& [name, value] : module.hyperparameters()) {
    run.record.hyper_parameters.emplace_back(name, to_text(value));
  }
  write_run_record(run_dir, run.record);
}

void log_hyperparameters(Run& run) {
  if (run.record.hyper_parameters.empty() || run.parts.strategy->communicator().rank() != 0) return;
  if (std::exchange(run.are_hyperparameters_logged, true)) return;
  for (const auto& logger : run.parts.loggers) logger->log_hyperparameters(run.record.hyper_parameters);
}

void update_record(Run& run, const std::vector<TimeSection>& times) {
  if (!has_record(run)) return;
  note_position(run);
  run.record.time_split = times;
  write_run_record(run.folder->path(), run.record);
}

void end_record(Run& run, RunStatus status, const std::string& error) {
  if (!has_record(run) || !run.folder->is_kept()) return;
  note_position(run);
  run.record.status = status;
  run.record.error = error;
  run.record.end_time = utc_time();
  write_run_record(run.folder->path(), run.record);
  if (run.options.enable_report) write_report({run.folder->path()});
}

}  // namespace levin
