#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "trainer/checkpoint/manifest.h"

namespace levin {

/// Writes a folder of files such that its name never stands for anything incomplete, whenever the process is killed or
/// the machine loses power: the files go to a temporary folder beside it, then the manifest, then all of it takes the
/// name at once.
///
///   AtomicFolder folder("checkpoints/last");
///   folder.write_file("state.json", [&](FileWriter& writer) { writer.write(text); });
///   folder.commit();
///
/// An older checkpoint of that name is replaced and stays complete until then. Where the filesystem cannot exchange two
/// names at once (NFS), there is a moment in which the older one is found only under its backup name; find_folder()
/// looks there. Not for several processes that write one name at the same time; different names are fine.
///
/// Errors: CheckpointError with the path, the operation and the system's reason (disk full, no permission, ...). The
/// temporary folder is then removed, by the destructor at the latest, and an older checkpoint is as it was.
class AtomicFolder {
 public:
  /// Creates the folders above `folder` where needed, and tidies up what processes that were killed left beside it.
  /// Errors: also if `folder` exists and is no checkpoint (not a folder, or one with files but without a manifest),
  /// because replacing would delete it.
  explicit AtomicFolder(const std::filesystem::path& folder);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// Adds the file `name`, whose content `write` writes; makes it durable.
  /// Errors: also InternalError if the name occurs twice or has a slash; and what `write` throws.
  void write_file(const std::string& name, const std::function<void(FileWriter&)>& write);

  /// Writes the manifest and gives the folder its name. Call it once, last.
  void commit();

 private:
  std::filesystem::path folder_;
  std::filesystem::path temporary_;
  Manifest manifest_;
};

/// `folder`; or, if there is no such folder, the older one that a killed process was about to replace; or else
/// `folder`.
std::filesystem::path find_folder(const std::filesystem::path& folder);

namespace internal {

/// Gives the complete folder `source` the name `target`, beside it. What had that name is removed.
/// try_exchange = false: as on a filesystem that cannot exchange two names.
void replace_folder(const std::filesystem::path& source, const std::filesystem::path& target, bool try_exchange = true);

}  // namespace internal
}  // namespace levin
