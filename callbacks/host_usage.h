#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace levin {

/// The text of a file; "" if it cannot be read. Tests replace it.
using ReadText = std::function<std::string(const std::string& path)>;

/// Reads a file from disk, or what the kernel shows as one.
std::string read_text_file(const std::string& path);

/// What this process uses of the machine. Without a value: the kernel does not tell.
struct HostUsage {
  std::optional<double> resident_bytes;   ///< Memory of the process that is in RAM, shared pages included.
  std::optional<double> available_bytes;  ///< Memory that the process can still take without swapping.
  std::optional<double> threads;          ///< Of the process.
};

/// Reads Linux' /proc and, as limits of containers and job schedulers are kept there, /sys/fs/cgroup (versions 1
/// and 2). What is missing or has another form is left out. Throws nothing that `read_text` does not.
HostUsage read_host_usage(const ReadText& read_text);

/// Seconds of processor time that the threads of this process have used, in user code and in the kernel.
double process_cpu_seconds();

// The parts of read_host_usage().

/// `statm`: /proc/self/statm, whose second number counts pages (proc(5)).
std::optional<double> parse_resident_bytes(std::string_view statm, int64_t page_bytes);
/// The number behind `key` at the start of a line, as "MemAvailable:    1024 kB".
std::optional<double> parse_field(std::string_view text, std::string_view key);
/// What the control groups of this process leave it: the least of limit - (usage - inactive file pages, which the
/// kernel takes back on demand) over its group and the groups above. nullopt: there is no limit.
std::optional<double> cgroup_available_bytes(const ReadText& read_text);

}  // namespace levin
