#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace levin {

/// Tells whether a folder has been written since it was asked for. It appears under its name as a whole, perhaps in the
/// place of an older one of that name.
class AwaitedFolder {
 public:
  /// To be called before the folder is written. An older one is forgotten.
  void await(const std::filesystem::path& folder);
  void forget() { folder_.clear(); }
  /// False also if no folder is awaited.
  bool is_there() const;

 private:
  std::filesystem::path folder_;
  std::optional<ino_t> number_before_;  // what the name meant when it was asked for
};

}  // namespace levin
