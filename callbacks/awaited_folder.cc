#include "callbacks/awaited_folder.h"

#include <sys/stat.h>

namespace levin {
namespace {

// A folder that replaces another one, while that is still there, differs in this number.
std::optional<ino_t> folder_number(const std::filesystem::path& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return std::nullopt;
  return facts.st_ino;
}

}  // namespace

void AwaitedFolder::await(const std::filesystem::path& folder) {
  folder_ = folder;
  number_before_ = folder_number(folder);
}

bool AwaitedFolder::is_there() const {
  if (folder_.empty()) return false;
  const std::optional<ino_t> now = folder_number(folder_);
  return now && now != number_before_;
}

}  // namespace levin
