#include "trainer/resume_point.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "trainer/core/error.h"
#include "trainer/find_checkpoint.h"
#include "trainer/fit_checkpoint.h"
#include "trainer/run_folder.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckpoints = "checkpoints";

struct Candidate {
  int64_t total_batches;
  fs::file_time_type time;
  fs::path folder;
  // NOLINTNEXTLINE(modernize-use-nullptr): taken for one of a literal 0
  auto operator<=>(const Candidate&) const = default;
};

/// The checkpoints of a run that a fit can go on from, newest first. Those whose position cannot be read go to
/// `damaged`.
std::vector<Candidate> candidates_of(const fs::path& run_dir, std::vector<std::string>& damaged) {
  std::vector<Candidate> candidates;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run_dir / kCheckpoints, error)) {
    if (entry.is_symlink(error) || !entry.is_directory(error) || entry.path().filename().string().starts_with(".")) {
      continue;
    }
    try {
      const StateDict position = load_run_scalars(entry.path());
      if (!position.contains("position.total_batches")) continue;
      candidates.push_back({position.integer("position.total_batches"), entry.last_write_time(error), entry.path()});
    } catch (const CheckpointError& failure) {
      damaged.emplace_back(failure.what());
    }
  }
  std::sort(candidates.rbegin(), candidates.rend());
  return candidates;
}

[[noreturn]] void throw_damaged(const fs::path& run_dir, const std::vector<std::string>& damaged) {
  throw CheckpointError(
      fmt::format("[Trainer] no checkpoint of {} is whole: {}", run_dir.string(), fmt::join(damaged, "; ")));
}

std::optional<ResumePoint> newest_of(const fs::path& run_dir) {
  std::vector<std::string> damaged;
  std::optional<ResumePoint> found;
  for (const Candidate& candidate : candidates_of(run_dir, damaged)) {
    try {
      found = ResumePoint{candidate.folder, load_checkpoint(candidate.folder), run_dir};
      break;
    } catch (const CheckpointError& failure) {
      damaged.emplace_back(failure.what());
    }
  }
  if (!found && !damaged.empty()) throw_damaged(run_dir, damaged);
  for (const std::string& failure : damaged) {
    TORCH_WARN("A checkpoint is damaged, and ", found->folder.string(), " is used instead: ", failure);
  }
  return found;
}

/// The run folder above a checkpoint of it, if that is the newest one there.
fs::path run_to_continue(const fs::path& folder) {
  const fs::path parent = fs::absolute(folder).lexically_normal().parent_path();
  const fs::path run_dir = parent.parent_path();
  std::error_code error;
  if (parent.filename() != kCheckpoints || !fs::exists(run_dir / "config.yaml", error)) return {};
  std::vector<std::string> damaged;
  const std::vector<Candidate> candidates = candidates_of(run_dir, damaged);
  if (candidates.empty() || !fs::equivalent(candidates.front().folder, folder, error)) return {};
  return folder.has_parent_path() ? folder.parent_path().parent_path() : run_dir;
}

ResumePoint load_point(const fs::path& folder) {
  ResumePoint point{folder, load_checkpoint(folder), run_to_continue(folder)};
  try {
    check_resumable(point.checkpoint.run);
  } catch (const CheckpointError& error) {
    throw CheckpointError(fmt::format("[Trainer] cannot resume from {}: {}", folder.string(), error.what()));
  }
  return point;
}

}  // namespace

std::optional<ResumePoint> find_resume_point(const std::string& name, const fs::path& root,
                                             const std::string& experiment) {
  if (name != "last" && name != "auto") return load_point(find_checkpoint(name, root, experiment));
  for (const fs::path& run_dir : run_versions(root, experiment)) {
    if (auto point = newest_of(run_dir)) return point;
  }
  if (name == "auto") return std::nullopt;
  throw CheckpointError(fmt::format(
      "[Trainer] no run in {} has a checkpoint to resume from. Leave out --resume, use --resume auto to begin "
      "anew where there is none, or name a checkpoint folder.",
      (root / "runs" / experiment).lexically_normal().string()));
}

}  // namespace levin
