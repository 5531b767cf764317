#pragma once

#include <filesystem>
#include <optional>

namespace levin {

/// Names beside a folder <name> that is being written or replaced: ".<name>.tmp-<owner>" is unfinished or superseded,
/// ".<name>.old-<owner>" is the complete older folder while the new one takes its name. <owner> tells which process
/// made it: host and process namespace, process id, start time, and a count.

/// A name beside `folder` that no other process or call uses. `folder` is absolute or relative, with a file name.
std::filesystem::path make_temporary_name(const std::filesystem::path& folder);
std::filesystem::path make_backup_name(const std::filesystem::path& folder);

/// The newest ".old-" folder of `folder`, if there is one.
std::optional<std::filesystem::path> find_backup(const std::filesystem::path& folder);

/// Puts the folders in `parent` in order that a process left which is no more: a backup whose folder is missing gets
/// its name back, everything else is removed. Of another host or container, whose processes cannot be seen, only what
/// nobody has changed for a day. What cannot be removed is left for the next time.
void clean_up_temporaries(const std::filesystem::path& parent);

}  // namespace levin
