#include "trainer/find_checkpoint.h"

#include <fmt/format.h>

#include "trainer/core/error.h"
#include "trainer/run_folder.h"

namespace levin {

std::filesystem::path find_checkpoint(const std::string& name, const std::filesystem::path& root,
                                      const std::string& experiment) {
  std::error_code error;
  if (name != "best" && name != "last") {
    if (std::filesystem::is_directory(name, error)) return name;
    throw CheckpointError(fmt::format("there is no checkpoint folder {}.", name));
  }
  for (const std::filesystem::path& run : run_versions(root, experiment)) {
    const std::filesystem::path link = run / "checkpoints" / name;
    if (!std::filesystem::is_directory(link, error)) continue;
    // Named by the folder itself, since the link may move on.
    return std::filesystem::is_symlink(link, error) ? link.parent_path() / std::filesystem::read_symlink(link) : link;
  }
  throw CheckpointError(
      fmt::format("no run in {} has a checkpoint \"{}\". Train first with `levin fit`, or name another "
                  "one: --checkpoint last, or --checkpoint FOLDER.",
                  (root / "runs" / experiment).lexically_normal().string(), name));
}

}  // namespace levin
