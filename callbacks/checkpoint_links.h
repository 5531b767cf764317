#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "callbacks/run_context.h"

namespace levin {

/// The links "last" and "best" in a folder of checkpoints. A checkpoint is written in the background, so that a link
/// moves only once its target is complete, and at any moment names either the old target or the new one.
class CheckpointLinks {
 public:
  /// What the links are to say once the checkpoint `name` is complete; "": that link stays as it is.
  struct Wanted {
    std::string name;
    std::string last;
    std::string best;
  };

  void start(const std::filesystem::path& dir);
  void want(Wanted wanted) { wanted_.push_back(std::move(wanted)); }
  bool is_waiting() const { return !wanted_.empty(); }

  /// Moves the links as far as checkpoints are complete. Returns the names of those that failed: a later one is
  /// complete, and they are not there. Errors: CheckpointError if a link cannot be made; it is not tried again.
  std::vector<std::string> update(const RunContext& run);

 private:
  std::filesystem::path dir_;
  std::vector<Wanted> wanted_;  // from old to new
};

}  // namespace levin
