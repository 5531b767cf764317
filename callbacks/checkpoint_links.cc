#include "callbacks/checkpoint_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

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

}  // namespace

void CheckpointLinks::start(const fs::path& dir) {
  dir_ = dir;
  wanted_.clear();
}

std::vector<std::string> CheckpointLinks::update(const RunContext& run) {
  if (wanted_.empty() || run.communicator.rank() != 0) {
    wanted_.clear();
    return {};
  }
  const std::optional<fs::path> complete = run.control.last_checkpoint();
  if (!complete) return {};
  const auto reached = std::find_if(wanted_.begin(), wanted_.end(),
                                    [&](const Wanted& wanted) { return dir_ / wanted.name == *complete; });
  if (reached == wanted_.end()) return {};
  const Wanted target = *reached;
  std::vector<std::string> failed;
  for (auto older = wanted_.begin(); older != reached; ++older) {
    std::error_code error;
    if (!fs::exists(dir_ / older->name, error)) failed.push_back(older->name);
  }
  wanted_.erase(wanted_.begin(), reached + 1);
  const auto is_there = [&](const std::string& name) {
    std::error_code error;
    return !name.empty() && fs::exists(dir_ / name, error);
  };
  if (is_there(target.last)) replace_link(dir_, "last", target.last);
  if (is_there(target.best)) replace_link(dir_, "best", target.best);
  return failed;
}

}  // namespace levin
