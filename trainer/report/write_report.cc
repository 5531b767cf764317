#include "trainer/report/write_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/report/report_html.h"
#include "trainer/report/run_data.h"
#include "trainer/report/text_file.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

/// The number n of a folder "version_<n>".
std::optional<int64_t> version_of(const fs::path& folder) {
  constexpr std::string_view kPrefix = "version_";
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t version = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, version);
  return error == std::errc() && stop == end ? std::optional(version) : std::nullopt;
}

std::vector<fs::path> runs_of_experiment(const fs::path& folder) {
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const auto version = version_of(it->path());
    if (version && is_run_folder(it->path())) found.emplace_back(*version, it->path());
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> runs;
  runs.reserve(found.size());
  for (auto& [version, path] : found) runs.push_back(std::move(path));
  return runs;
}

std::vector<fs::path> runs_at(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) throw ConfigError(fmt::format("there is no folder {}.", path.string()));
  if (!fs::is_directory(path, error)) {
    throw ConfigError(fmt::format("{} is a file. Name the run folder that it is in.", path.string()));
  }
  if (is_run_folder(path)) return {path};
  std::vector<fs::path> runs = runs_of_experiment(path);
  if (!runs.empty()) return runs;
  throw ConfigError(
      fmt::format("{} is neither a run folder (it has none of run.json, metrics.csv and config.yaml) nor the folder of "
                  "an experiment (it has no folder version_<n> with one of them). A fit prints its run folder when it "
                  "ends: <default_root_dir>/runs/<experiment>/version_<n>.",
                  path.string()));
}

}  // namespace

std::vector<fs::path> find_runs(const std::vector<fs::path>& paths) {
  std::vector<fs::path> runs;
  std::vector<fs::path> seen;
  for (const fs::path& path : paths) {
    for (const fs::path& run : runs_at(path)) {
      const fs::path real = fs::canonical(run);
      if (std::find(seen.begin(), seen.end(), real) != seen.end()) continue;
      seen.push_back(real);
      runs.push_back(run);
    }
  }
  return runs;
}

fs::path write_report(const std::vector<fs::path>& paths, const std::optional<fs::path>& output) {
  if (paths.empty()) throw ConfigError("report needs at least one run folder: levin report RUN...");
  const std::vector<fs::path> folders = find_runs(paths);
  std::vector<RunData> runs;
  runs.reserve(folders.size());
  for (const fs::path& folder : folders) runs.push_back(read_run(folder));
  fs::path file = runs.size() == 1 ? folders.front() / "report.html" : fs::path("report.html");
  if (output) file = *output;
  std::error_code error;
  if (file.has_parent_path() && !fs::is_directory(file.parent_path(), error)) {
    throw ConfigError(
        fmt::format("[report] cannot write {}: there is no folder {}.", file.string(), file.parent_path().string()));
  }
  replace_file(file, report_html(runs));
  return file;
}

}  // namespace levin
