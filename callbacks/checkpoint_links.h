#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

namespace levin {

/// The links "last" and "best" in a folder of checkpoints. A checkpoint is written in the background, so that a link
/// moves only once its target is complete, and at any moment names either the old target or the new one. For one rank.
class CheckpointLinks {
 public:
  /// What the links are to say once the checkpoint `name` is complete; "": that link stays as it is.
  struct Wanted {
    std::string name;
    std::string last;
    std::string best;
  };

  void start(const std::filesystem::path& dir);
  /// To be called before the checkpoint is written, which may replace a folder of that name. An older wish is given up.
  void want(const Wanted& wanted);
  void forget() { wanted_.reset(); }

  /// True if the checkpoint of the newest wish is complete. Checkpoints appear under their name as a whole.
  bool is_written() const;
  /// Moves the links once that is so, once. Errors: CheckpointError if a link cannot be made; it is
  /// not tried again.
  void update();

 private:
  std::filesystem::path dir_;
  std::optional<Wanted> wanted_;
  std::optional<ino_t> folder_before_;  // what the name meant when it was wanted
  bool is_moved_ = false;
};

}  // namespace levin
