#include "trainer/checkpoint/temporary_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "trainer/core/files/file_writer.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr auto kForeignLifetime = std::chrono::hours(24);

// Tells apart the places whose process ids mean different things: host name and process namespace, as 16 hex digits.
std::string machine_id() {
  std::array<char, 256> host = {};
  ::gethostname(host.data(), host.size() - 1);
  std::error_code ignored;
  const std::string identity = host.data() + fs::read_symlink("/proc/self/ns/pid", ignored).string();
  Checksum checksum;
  checksum.update(identity.data(), identity.size());
  return checksum.hex();
}

// When the process began, in clock ticks since boot: tells a process from a later one with the same id. "": no such
// process, or it has ended and only its parent does not know yet.
std::string start_time_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // Field 22; field 2 is the program's name in parentheses, which may hold anything, so count from its end.
  const size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return "";
  size_t begin = end_of_name + 1;
  for (int field = 3; field <= 22; ++field) {
    begin = text.find_first_not_of(' ', text.find(' ', begin));
    if (field == 3 && begin != std::string::npos && (text[begin] == 'Z' || text[begin] == 'X')) return "";
  }
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find(' ', begin) - begin);
}

fs::path make_name(const fs::path& folder, const char* kind) {
  static std::atomic<int64_t> count = 0;
  const std::string pid = std::to_string(::getpid());
  const std::string start_time = start_time_of(pid);
  return folder.parent_path() / fmt::format(".{}.{}-{}-{}-{}-{}", folder.filename().string(), kind, machine_id(), pid,
                                            start_time.empty() ? "0" : start_time, count++);
}

struct TemporaryName {
  std::string folder;  // the name that it stands for
  bool is_backup;
  std::string machine;
  std::string pid;
  std::string start_time;
};

// Cuts "-<part>" off the end of `name` and returns the part; "" if there is none.
std::string cut_last_part(std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos) return "";
  std::string part = name.substr(dash + 1);
  name.resize(dash);
  return part;
}

bool consists_of(const std::string& part, const char* allowed) {
  return !part.empty() && part.find_first_not_of(allowed) == std::string::npos;
}

// Reads ".<folder>.<tmp or old>-<machine>-<pid>-<start time>-<count>"; nullopt if it is another name.
std::optional<TemporaryName> parse_name(std::string name) {
  constexpr const char* kDigits = "0123456789";
  const std::string count = cut_last_part(name);
  const std::string start_time = cut_last_part(name);
  const std::string pid = cut_last_part(name);
  const std::string machine = cut_last_part(name);
  const bool is_owner = machine.size() == 16 && consists_of(machine, "0123456789abcdef") && consists_of(pid, kDigits) &&
                        consists_of(start_time, kDigits) && consists_of(count, kDigits);
  const bool is_backup = name.ends_with(".old");
  constexpr size_t kKindLength = 4;
  if (!is_owner || !(is_backup || name.ends_with(".tmp")) || !name.starts_with('.') || name.size() < kKindLength + 2) {
    return std::nullopt;
  }
  return TemporaryName{.folder = name.substr(1, name.size() - 1 - kKindLength),
                       .is_backup = is_backup,
                       .machine = machine,
                       .pid = pid,
                       .start_time = start_time};
}

bool is_abandoned(const TemporaryName& name, const fs::path& path) {
  if (name.machine == machine_id()) return start_time_of(name.pid) != name.start_time;
  std::error_code error;
  const auto changed = fs::last_write_time(path, error);
  return !error && fs::file_time_type::clock::now() - changed > kForeignLifetime;
}

}  // namespace

fs::path make_temporary_name(const fs::path& folder) { return make_name(folder, "tmp"); }
fs::path make_backup_name(const fs::path& folder) { return make_name(folder, "old"); }

std::optional<fs::path> find_backup(const fs::path& folder) {
  std::optional<fs::path> newest;
  fs::file_time_type newest_time;
  std::error_code error;
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  for (fs::directory_iterator item(parent, error), end; !error && item != end; item.increment(error)) {
    const auto name = parse_name(item->path().filename().string());
    if (!name || !name->is_backup || name->folder != folder.filename().string()) continue;
    std::error_code ignored;
    const auto time = fs::last_write_time(item->path(), ignored);
    if (!newest || time > newest_time) {
      newest = item->path();
      newest_time = time;
    }
  }
  return newest;
}

void clean_up_temporaries(const fs::path& parent) {
  std::vector<std::pair<fs::path, TemporaryName>> abandoned;
  std::error_code error;
  for (fs::directory_iterator item(parent, error), end; !error && item != end; item.increment(error)) {
    const auto name = parse_name(item->path().filename().string());
    if (name && is_abandoned(*name, item->path())) abandoned.emplace_back(item->path(), *name);
  }
  // The newest backup of a folder first: it gets the name.
  std::sort(abandoned.begin(), abandoned.end(), [](const auto& a, const auto& b) {
    std::error_code ignored;
    return fs::last_write_time(a.first, ignored) > fs::last_write_time(b.first, ignored);
  });
  for (const auto& [path, name] : abandoned) {
    std::error_code ignored;
    const fs::path folder = parent / name.folder;
    if (name.is_backup && fs::symlink_status(folder, ignored).type() == fs::file_type::not_found) {
      fs::rename(path, folder, ignored);
    } else {
      fs::remove_all(path, ignored);
    }
  }
}

}  // namespace levin
