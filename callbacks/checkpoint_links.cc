#include "callbacks/checkpoint_links.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <system_error>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace fs = std::filesystem;
namespace {

void throw_if_failed(const std::error_code& error, const char* action, const fs::path& path) {
  if (!error) return;
  throw CheckpointError(fmt::format("[ModelCheckpoint] Cannot {} {}: {}.", action, path.string(), error.message()));
}

void replace_link(const fs::path& dir, const std::string& name, const std::string& target) {
  const fs::path link = dir / name;
  const fs::path temporary = dir / ("." + name + ".tmp");
  std::error_code error;
  fs::remove(temporary, error);
  fs::create_directory_symlink(target, temporary, error);
  throw_if_failed(error, "make the link", temporary);
  fs::rename(temporary, link, error);
  throw_if_failed(error, "replace the link", link);
}

// A folder that replaces another one, while that is still there, differs in this number.
std::optional<ino_t> folder_number(const fs::path& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return std::nullopt;
  return facts.st_ino;
}

}  // namespace

void CheckpointLinks::start(const fs::path& dir) {
  dir_ = dir;
  wanted_.reset();
}

void CheckpointLinks::want(const Wanted& wanted) {
  wanted_ = wanted;
  folder_before_ = folder_number(dir_ / wanted.name);
  is_moved_ = false;
}

bool CheckpointLinks::is_written() const {
  if (!wanted_) return false;
  const std::optional<ino_t> now = folder_number(dir_ / wanted_->name);
  return now && now != folder_before_;
}

void CheckpointLinks::update() {
  if (is_moved_ || !is_written()) return;
  is_moved_ = true;
  for (const auto& [link, target] : {std::pair("last", wanted_->last), std::pair("best", wanted_->best)}) {
    if (!target.empty() && folder_number(dir_ / target)) replace_link(dir_, link, target);
  }
}

}  // namespace levin
