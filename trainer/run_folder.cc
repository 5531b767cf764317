#include "trainer/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <system_error>

#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVersionPrefix = "version_";

std::optional<int64_t> version_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kVersionPrefix)) return std::nullopt;
  int64_t version = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kVersionPrefix.size(), end, version);
  if (error != std::errc() || stop != end || version < 0) return std::nullopt;
  return version;
}

fs::path experiment_folder(const fs::path& root, const std::string& experiment) { return root / "runs" / experiment; }

[[noreturn]] void throw_unwritable(const fs::path& path, const std::string& reason) {
  throw ConfigError(
      fmt::format("[RunFolder] cannot write the run folder {}: {}. Set trainer.default_root_dir to a folder that can "
                  "be written.",
                  path.string(), reason));
}

}  // namespace

std::vector<fs::path> run_versions(const fs::path& root, const std::string& experiment) {
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(experiment_folder(root, experiment), error)) {
    if (const auto version = version_of(entry.path())) found.emplace_back(*version, entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> paths;
  paths.reserve(found.size());
  for (auto& [version, path] : found) paths.push_back(std::move(path));
  return paths;
}

RunFolder::RunFolder(const fs::path& root, const std::string& experiment, const std::string& config_yaml) {
  const fs::path experiment_dir = experiment_folder(root, experiment);
  try {
    make_parents(experiment_dir);
    make_version(experiment_dir);
    write_config(config_yaml);
  } catch (...) {
    remove();
    throw;
  }
}

RunFolder::~RunFolder() {
  if (!is_kept_) remove();
}

void RunFolder::make_parents(const fs::path& folder) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path path = folder; !path.empty() && !fs::exists(path, error); path = path.parent_path()) {
    missing.push_back(path);
    if (path == path.parent_path()) break;
  }
  for (auto path = missing.rbegin(); path != missing.rend(); ++path) {
    if (fs::create_directory(*path, error)) made_parents_.push_back(*path);
    if (error) throw_unwritable(*path, error.message());
  }
}

void RunFolder::make_version(const fs::path& experiment_dir) {
  int64_t version = 0;
  const std::vector<fs::path> versions =
      run_versions(experiment_dir.parent_path().parent_path(), experiment_dir.filename());
  if (!versions.empty()) version = *version_of(versions.front()) + 1;
  // Another run may take the same number at the same moment: create_directory tells who came first.
  for (;; ++version) {
    const fs::path candidate = experiment_dir / fmt::format("{}{}", kVersionPrefix, version);
    std::error_code error;
    if (fs::create_directory(candidate, error)) {
      path_ = candidate;
      return;
    }
    if (error) throw_unwritable(candidate, error.message());
  }
}

void RunFolder::write_config(const std::string& config_yaml) const {
  const fs::path file = path_ / "config.yaml";
  std::ofstream out(file);
  out << config_yaml;
  out.close();
  if (!out) throw_unwritable(file, "it could not be written in full");
}

void RunFolder::remove() noexcept {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
  // Only what this run made, and only if nobody has put something there since.
  for (auto parent = made_parents_.rbegin(); parent != made_parents_.rend(); ++parent) fs::remove(*parent, error);
}

}  // namespace levin
