#include "callbacks/host_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>

namespace levin {
namespace {

// Files that are not there have no text.
using Files = std::map<std::string, std::string>;

ReadText reader(Files files) {
  return [files = std::move(files)](const std::string& path) {
    const auto file = files.find(path);
    return file == files.end() ? std::string() : file->second;
  };
}

// Pages of 4 KiB, 437 of them resident.
TEST(HostUsageTest, ResidentBytesAreTheSecondNumberInPages) {
  EXPECT_EQ(parse_resident_bytes("765 437 409 5 0 123 0\n", 4096), 437.0 * 4096.0);
  for (const char* broken : {"", "765", "765 ", "765 x", "765 -1 2", "\n"}) {
    EXPECT_EQ(parse_resident_bytes(broken, 4096), std::nullopt) << broken;
  }
}

TEST(HostUsageTest, FieldIsTheNumberBehindItsKey) {
  const std::string text = "MemTotal:  24683584 kB\nMemAvailable:\t 21107412 kB\nThreads:\t7\n";
  EXPECT_EQ(parse_field(text, "MemAvailable:"), 21107412.0);
  EXPECT_EQ(parse_field(text, "Threads:"), 7.0);
  EXPECT_EQ(parse_field(text, "Available:"), std::nullopt);  // only at the start of a line
  EXPECT_EQ(parse_field("Threads:", "Threads:"), std::nullopt);
  EXPECT_EQ(parse_field("Threads: many\nThreads: 3", "Threads:"), 3.0);
}

TEST(HostUsageTest, ValuesComeFromTheirFiles) {
  const HostUsage usage = read_host_usage(reader({{"/proc/self/statm", "10 5 1 1 0 1 0\n"},
                                                  {"/proc/meminfo", "MemAvailable: 8 kB\n"},
                                                  {"/proc/self/status", "Name: x\nThreads:\t3\n"}}));
  EXPECT_EQ(usage.resident_bytes, 5.0 * static_cast<double>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(usage.available_bytes, 8192.0);
  EXPECT_EQ(usage.threads, 3.0);
}

TEST(HostUsageTest, MissingAndBrokenFilesLeaveTheirValueOut) {
  const Files files = {{"/proc/self/statm", "?"}, {"/proc/self/status", "Threads:\t3\n"}, {"/proc/self/cgroup", "::"}};
  const HostUsage usage = read_host_usage(reader(files));
  EXPECT_EQ(usage.resident_bytes, std::nullopt);
  EXPECT_EQ(usage.available_bytes, std::nullopt);
  EXPECT_EQ(usage.threads, 3.0);
}

// 1000 - (700 - 200) = 500 in the group, 2000 - 1600 = 400 in the one above.
TEST(HostUsageTest, GroupAboveMayLeaveLess) {
  const Files files = {{"/proc/self/cgroup", "0::/slice/job\n"},
                       {"/sys/fs/cgroup/slice/job/memory.max", "1000\n"},
                       {"/sys/fs/cgroup/slice/job/memory.current", "700\n"},
                       {"/sys/fs/cgroup/slice/job/memory.stat", "anon 500\ninactive_file 200\n"},
                       {"/sys/fs/cgroup/slice/memory.max", "2000\n"},
                       {"/sys/fs/cgroup/slice/memory.current", "1600\n"},
                       {"/sys/fs/cgroup/memory.max", "max\n"},
                       {"/sys/fs/cgroup/memory.current", "1\n"}};
  EXPECT_EQ(cgroup_available_bytes(reader(files)), 400.0);
  Files without_above = files;
  without_above["/sys/fs/cgroup/slice/memory.max"] = "max\n";
  EXPECT_EQ(cgroup_available_bytes(reader(without_above)), 500.0);
}

// The path is the host's, where the container's own folders are not to be seen.
TEST(HostUsageTest, VersionOneOfAContainerHasItsLimitAtTheRoot) {
  const Files files = {{"/proc/self/cgroup", "5:cpu,cpuacct:/docker/1\n4:hugetlb,memory:/docker/1\n0::/\n"},
                       {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n"},
                       {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "900\n"},
                       {"/sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 100\n"}};
  EXPECT_EQ(cgroup_available_bytes(reader(files)), 200.0);
}

TEST(HostUsageTest, LimitCountsOnlyWhereItIsLess) {
  Files files = {{"/proc/meminfo", "MemAvailable: 1 kB\n"},
                 {"/proc/self/cgroup", "0::/\n"},
                 {"/sys/fs/cgroup/memory.max", "9223372036854771712\n"},
                 {"/sys/fs/cgroup/memory.current", "5\n"}};
  EXPECT_EQ(read_host_usage(reader(files)).available_bytes, 1024.0);
  files["/sys/fs/cgroup/memory.max"] = "3\n";  // lowered below the usage: nothing is left, and not less than that
  EXPECT_EQ(read_host_usage(reader(files)).available_bytes, 0.0);
}

TEST(HostUsageTest, ThisProcessIsKnown) {
  const HostUsage usage = read_host_usage(read_text_file);
  ASSERT_TRUE(usage.resident_bytes && usage.available_bytes && usage.threads);
  EXPECT_GT(*usage.resident_bytes, 1e5);
  EXPECT_GT(*usage.available_bytes, 0.0);
  EXPECT_GE(*usage.threads, 1.0);
}

TEST(HostUsageTest, FileThatCannotBeReadHasNoText) {
  EXPECT_EQ(read_text_file("/proc/self/there_is_none"), "");
  EXPECT_EQ(read_text_file("/proc/self"), "");  // a folder
}

TEST(HostUsageTest, ProcessorTimeGoesOnWithWork) {
  const double before = process_cpu_seconds();
  volatile double sink = 0.0;
  for (int64_t i = 0; i < 1'000'000'000 && process_cpu_seconds() <= before; ++i) sink = sink + 1.0;
  EXPECT_GT(process_cpu_seconds(), before);
}

}  // namespace
}  // namespace levin
