#include "callbacks/host_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace levin {
namespace {

constexpr double kBytesPerKibibyte = 1024.0;

/// Where a version of control groups keeps its values.
struct CgroupFiles {
  const char* root;
  const char* limit;
  const char* usage;
  const char* inactive_key;  // in memory.stat
};
constexpr CgroupFiles kVersion1 = {"/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                   "total_inactive_file"};
constexpr CgroupFiles kVersion2 = {"/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file"};

// The number at the start of the text, after blanks. None for "max", which stands for no limit.
std::optional<double> parse_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(static_cast<double>(value)) : std::nullopt;
}

// Cuts the text up to the next `separator` off and returns it.
std::string_view take_until(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return head;
}

bool lists_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    if (take_until(controllers, ',') == "memory") return true;
  }
  return false;
}

std::optional<double> least(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::optional<double> available_in(const std::string& folder, const CgroupFiles& files, const ReadText& read_text) {
  const std::optional<double> limit = parse_number(read_text(folder + files.limit));
  const std::optional<double> usage = limit ? parse_number(read_text(folder + files.usage)) : std::nullopt;
  if (!usage) return std::nullopt;
  const double inactive = parse_field(read_text(folder + "/memory.stat"), files.inactive_key).value_or(0.0);
  return std::max(0.0, *limit - std::max(0.0, *usage - inactive));
}

// A container may not show the folders of its own group but only the root, which has its limit then.
std::optional<double> available_up_from(std::string_view path, const CgroupFiles& files, const ReadText& read_text) {
  std::optional<double> available;
  while (true) {
    while (path.ends_with('/')) path.remove_suffix(1);
    available = least(available, available_in(files.root + std::string(path), files, read_text));
    if (path.empty()) return available;
    path = path.substr(0, path.rfind('/') + 1);
  }
}

}  // namespace

std::string read_text_file(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<double> parse_resident_bytes(std::string_view statm, int64_t page_bytes) {
  take_until(statm, ' ');
  const std::optional<double> pages = parse_number(statm);
  return pages ? std::optional(*pages * static_cast<double>(page_bytes)) : std::nullopt;
}

std::optional<double> parse_field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (const std::optional<double> value = parse_number(line)) return value;
  }
  return std::nullopt;
}

// A line of /proc/self/cgroup is "number:controllers:path"; version 2 has the number 0 and no controllers.
std::optional<double> cgroup_available_bytes(const ReadText& read_text) {
  const std::string groups = read_text("/proc/self/cgroup");
  std::string_view text = groups;
  std::optional<double> available;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::string_view number = take_until(line, ':');
    const std::string_view controllers = take_until(line, ':');
    const bool is_version_2 = number == "0" && controllers.empty();
    if (!line.starts_with('/') || (!is_version_2 && !lists_memory(controllers))) continue;
    available = least(available, available_up_from(line, is_version_2 ? kVersion2 : kVersion1, read_text));
  }
  return available;
}

HostUsage read_host_usage(const ReadText& read_text) {
  std::optional<double> available = parse_field(read_text("/proc/meminfo"), "MemAvailable:");
  if (available) *available *= kBytesPerKibibyte;
  return {.resident_bytes = parse_resident_bytes(read_text("/proc/self/statm"), sysconf(_SC_PAGESIZE)),
          .available_bytes = least(available, cgroup_available_bytes(read_text)),
          .threads = parse_field(read_text("/proc/self/status"), "Threads:")};
}

double process_cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace levin
