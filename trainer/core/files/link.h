#pragma once

#include <filesystem>
#include <string>

namespace levin {

/// Makes the symbolic link `link` say `target`, which stands relative to the link's folder. A link that is there is
/// replaced in one step: at any moment it names the old target or the new one. The change survives a power cut.
/// Errors: CheckpointError with the path and the system's reason; an older link is then as it was.
void replace_link(const std::filesystem::path& link, const std::string& target);

}  // namespace levin
