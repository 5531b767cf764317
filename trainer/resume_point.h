#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "trainer/checkpoint/checkpoint.h"

namespace levin {

/// A checkpoint that a fit goes on from.
struct ResumePoint {
  std::filesystem::path folder;
  Checkpoint checkpoint;
  /// The run folder in which the fit goes on: that of the checkpoint if it is the newest there. Empty: a new one, so
  /// that nothing of what came after an older checkpoint is lost.
  std::filesystem::path run_dir;
};

/// What `name` means:
///   "last"  the newest checkpoint of the newest run of the experiment that has any: the one of the most optimizer
///   steps "auto"  the same, or nothing if there is none: a job that is started anew each time it is preempted "best"
///   the checkpoint "best" of the newest run that has one else    a checkpoint folder
/// For "last" and "auto", a checkpoint that is damaged is warned of by name, and the next older one is taken.
/// Errors: CheckpointError if there is none, all are damaged, or it holds the weights only.
std::optional<ResumePoint> find_resume_point(const std::string& name, const std::filesystem::path& root,
                                             const std::string& experiment);

}  // namespace levin
