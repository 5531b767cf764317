#include "trainer/checkpoint/atomic_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "trainer/checkpoint/temporary_folder.h"
#include "trainer/core/error.h"
#include "trainer/core/files/posix_file.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

// Without "." and "..", and without a slash at the end, so that the last part is a name.
fs::path normalize(const fs::path& folder) {
  fs::path normal = folder.lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  if (normal.empty() || !normal.has_filename() || normal.filename() == "." || normal.filename() == "..") {
    throw CheckpointError(fmt::format("[Checkpoint] \"{}\" is not the name of a folder to write.", folder.string()));
  }
  return normal;
}

fs::path parent_of(const fs::path& folder) { return folder.has_parent_path() ? folder.parent_path() : fs::path("."); }

bool is_taken(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

// Replacing deletes, so only checkpoints and empty folders are replaced.
void check_replaceable(const fs::path& folder) {
  if (!is_taken(folder)) return;
  std::error_code error;
  const bool is_folder = fs::is_directory(folder, error);
  if (is_folder && (fs::exists(folder / kManifestName, error) || fs::is_empty(folder, error))) return;
  throw CheckpointError(fmt::format(
      "[Checkpoint] {} exists and is {}, so it is not replaced. Hint: choose another name, or move it away.",
      folder.string(), is_folder ? fmt::format("a folder without {}", kManifestName) : "not a folder"));
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw_io_error("rename to its final name", from, errno);
}

void remove_quietly(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// False if the filesystem cannot do it.
bool exchange(const fs::path& source, const fs::path& target) {
  if (::renameat2(AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return false;
  throw_io_error("rename to its final name", source, errno);
}

}  // namespace

namespace internal {

void replace_folder(const fs::path& source, const fs::path& target, bool try_exchange) {
  const fs::path parent = parent_of(target);
  if (!is_taken(target)) {
    rename_or_throw(source, target);
    sync_folder(parent);
    return;
  }
  if (try_exchange && exchange(source, target)) {
    sync_folder(parent);
    remove_quietly(source);  // now the older one; what cannot be removed now is removed at the next save
    return;
  }
  const fs::path backup = make_backup_name(target);
  rename_or_throw(target, backup);
  try {
    rename_or_throw(source, target);
  } catch (const CheckpointError&) {
    rename_or_throw(backup, target);
    throw;
  }
  sync_folder(parent);
  remove_quietly(backup);
}

}  // namespace internal

AtomicFolder::AtomicFolder(const fs::path& folder) : folder_(normalize(folder)) {
  create_folders(folder_.parent_path());
  clean_up_temporaries(parent_of(folder_));
  check_replaceable(folder_);
  const fs::path temporary = make_temporary_name(folder_);
  if (::mkdir(temporary.c_str(), 0777) != 0) throw_io_error("create the folder", temporary, errno);
  temporary_ = temporary;
}

AtomicFolder::~AtomicFolder() {
  if (!temporary_.empty()) remove_quietly(temporary_);
}

void AtomicFolder::write_file(const std::string& name, const std::function<void(FileWriter&)>& write) {
  if (name.empty() || name.find('/') != std::string::npos || name == kManifestName || manifest_.contains(name)) {
    throw InternalError(fmt::format("[Checkpoint] the file \"{}\" cannot be added to {}.", name, folder_.string()));
  }
  FileWriter writer(temporary_ / name);
  write(writer);
  manifest_[name] = writer.finish();
}

void AtomicFolder::commit() {
  FileWriter writer(temporary_ / kManifestName);
  writer.write(manifest_to_json(manifest_));
  writer.finish();
  sync_folder(temporary_);
  internal::replace_folder(temporary_, folder_);
  temporary_.clear();
}

fs::path find_folder(const fs::path& folder) {
  if (is_taken(folder)) return folder;
  return find_backup(normalize(folder)).value_or(folder);
}

}  // namespace levin
