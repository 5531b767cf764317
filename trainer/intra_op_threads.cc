#include "trainer/intra_op_threads.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace levin {
namespace {

std::vector<int> usable_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) processors.push_back(processor);
  }
  return processors;
}

int64_t count_cores(const std::vector<int>& processors) {
  std::set<std::pair<int, int>> cores;
  for (const int processor : processors) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", processor);
    int package = 0;
    int core = 0;
    std::ifstream package_file(folder + "physical_package_id");
    std::ifstream core_file(folder + "core_id");
    // Where the system tells nothing of its cores, each processor counts as one.
    if (!(package_file >> package) || !(core_file >> core)) return static_cast<int64_t>(processors.size());
    cores.insert({package, core});
  }
  return static_cast<int64_t>(cores.size());
}

std::optional<double> cpu_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_cpu_quota(text.str());
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::string counted(int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::optional<double> parse_cpu_quota(std::string_view text) {
  std::istringstream stream{std::string(text)};
  double time = 0.0;
  double period = 0.0;
  if (!(stream >> time >> period) || time <= 0.0 || period <= 0.0) return std::nullopt;
  return time / period;
}

ThreadSurroundings thread_surroundings(int64_t local_world_size) {
  const std::vector<int> processors = usable_processors();
  return {.current = at::get_num_threads(),
          .usable_cores = count_cores(processors),
          .usable_processors = static_cast<int64_t>(processors.size()),
          .quota = cpu_quota(),
          .is_set_by_environment = is_set("OMP_NUM_THREADS") || is_set("MKL_NUM_THREADS"),
          .local_world_size = local_world_size};
}

IntraOpThreads choose_intra_op_threads(std::optional<int64_t> option, const ThreadSurroundings& surroundings) {
  if (option) return {*option, "trainer.intra_op_threads"};
  if (surroundings.is_set_by_environment) return {surroundings.current, "set by OMP_NUM_THREADS or MKL_NUM_THREADS"};
  const int64_t current = surroundings.current;
  if (current != surroundings.usable_cores && current != surroundings.usable_processors) {
    return {current, "set by at::set_num_threads()"};
  }
  const bool is_limited = surroundings.quota && *surroundings.quota < static_cast<double>(current);
  const int64_t cores = is_limited ? std::max<int64_t>(1, std::llround(*surroundings.quota)) : current;
  return {std::max<int64_t>(1, cores / surroundings.local_world_size),
          fmt::format("{}{} / {} of this host", counted(cores, "core"), is_limited ? " of the container" : "",
                      counted(surroundings.local_world_size, "rank"))};
}

}  // namespace levin
