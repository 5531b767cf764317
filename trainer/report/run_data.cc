#include "trainer/report/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "trainer/config/yaml.h"
#include "trainer/core/error.h"
#include "trainer/report/text_file.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kFiles = {"run.json", "metrics.csv", "config.yaml"};

using Settings = std::vector<std::pair<std::string, std::string>>;

void flatten(const ConfigValue& value, const std::string& key, Settings& settings) {
  if (value.is_map() && !value.entries.empty()) {
    for (const auto& entry : value.entries) {
      flatten(entry.value, key.empty() ? entry.key : key + "." + entry.key, settings);
    }
  } else if (value.is_list() && !value.items.empty()) {
    for (size_t i = 0; i < value.items.size(); ++i) flatten(value.items[i], fmt::format("{}[{}]", key, i), settings);
  } else if (!key.empty()) {
    const char* empty = value.is_map() ? "{}" : value.is_list() ? "[]" : "null";
    settings.emplace_back(key, value.is_scalar() ? value.scalar : empty);
  }
}

std::string run_name(const fs::path& folder) {
  const std::string parent = folder.parent_path().filename().string();
  const std::string own = folder.filename().string();
  return parent.empty() ? own : parent + "/" + own;
}

bool is_there(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error);
}

void read_metrics(RunData& run) {
  if (!is_there(run.folder / "metrics.csv")) {
    run.notes.emplace_back("There is no metrics.csv: the run has logged nothing, or its logger writes elsewhere.");
    return;
  }
  MetricsFile file = parse_metrics(read_whole_file(run.folder / "metrics.csv"));
  if (file.series.empty() && file.notes.empty()) run.notes.emplace_back("metrics.csv holds no values yet.");
  run.metrics = std::move(file.series);
  run.notes.insert(run.notes.end(), file.notes.begin(), file.notes.end());
}

void read_config(RunData& run) {
  if (!is_there(run.folder / "config.yaml")) return;
  run.config = read_whole_file(run.folder / "config.yaml");
  flatten(parse_yaml(run.config, "config.yaml"), "", run.settings);
}

std::vector<EpochSpan> find_epochs(const std::vector<MetricSeries>& metrics) {
  std::map<int64_t, std::pair<int64_t, int64_t>> first_and_last;
  for (const MetricSeries& series : metrics) {
    for (size_t i = 0; i < series.steps.size(); ++i) {
      const int64_t step = series.steps[i];
      auto& [first, last] = first_and_last.try_emplace(series.epochs[i], step, step).first->second;
      first = std::min(first, step);
      last = std::max(last, step);
    }
  }
  std::vector<EpochSpan> spans;
  int64_t previous_last = -1;
  for (const auto& [epoch, steps] : first_and_last) {
    const bool follows = epoch == 0 || (!spans.empty() && spans.back().epoch + 1 == epoch);
    // The first step of an epoch is rarely one that is logged.
    const int64_t first = follows ? std::min(previous_last + 1, steps.first) : steps.first;
    spans.push_back({epoch, first, steps.second - first + 1});
    previous_last = steps.second;
  }
  const size_t count = spans.size();
  if (count > 1) spans[count - 1].num_steps = std::max(spans[count - 1].num_steps, spans[count - 2].num_steps);
  return spans;
}

}  // namespace

bool is_run_folder(const fs::path& folder) {
  std::error_code error;
  return std::any_of(kFiles.begin(), kFiles.end(),
                     [&](const char* file) { return fs::is_regular_file(folder / file, error); });
}

RunData read_run(const fs::path& folder) {
  if (!is_run_folder(folder)) {
    throw ConfigError(
        fmt::format("{} is no run folder: it has none of run.json, metrics.csv and config.yaml.", folder.string()));
  }
  RunData run;
  run.folder = fs::canonical(folder);
  run.name = run_name(run.folder);
  const auto guarded = [&](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      run.notes.emplace_back(error.what());
    }
  };
  guarded([&] { run.record = read_run_record(run.folder); });
  guarded([&] { read_metrics(run); });
  guarded([&] { read_config(run); });
  run.epochs = find_epochs(run.metrics);
  return run;
}

}  // namespace levin
