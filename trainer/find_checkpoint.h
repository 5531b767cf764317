#pragma once

#include <filesystem>
#include <string>

namespace levin {

/// The checkpoint folder that a user means: a path, or "best" or "last" of the newest run of the experiment that has
/// one. Errors: CheckpointError if there is none; it says where it looked.
std::filesystem::path find_checkpoint(const std::string& name, const std::filesystem::path& root,
                                      const std::string& experiment);

}  // namespace levin
