#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace levin {

/// The run folders that a user means: each path is a run folder, or the folder of an experiment and stands for all its
/// runs, version_0 first. A run that is named twice counts once.
/// Errors: ConfigError if a path is neither; it says what is missing.
std::vector<std::filesystem::path> find_runs(const std::vector<std::filesystem::path>& paths);

/// Reads the runs and writes their report to `output`; without one to report.html in the run folder, or, for several
/// runs, in the current folder. Returns where it stands.
/// Errors: those of find_runs(); ConfigError if there is no path, or no folder for
/// `output`; OutputError if the file cannot be written.
std::filesystem::path write_report(const std::vector<std::filesystem::path>& paths,
                                   const std::optional<std::filesystem::path>& output = std::nullopt);

}  // namespace levin
