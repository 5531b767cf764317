#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace levin {

/// How many threads one operation computes with, and why so many.
struct IntraOpThreads {
  int64_t count = 1;
  std::string reason = {};  ///< "4 cores / 2 ranks of this host"
};

/// What the choice depends on beside the option.
struct ThreadSurroundings {
  int64_t current = 1;            ///< at::get_num_threads()
  int64_t usable_cores = 1;       ///< Of this process, each counted once whatever number of threads it runs.
  int64_t usable_processors = 1;  ///< The same, each of their threads counted.
  std::optional<double> quota = std::nullopt;  ///< Processors' worth of time that the container may use.
  bool is_set_by_environment = false;          ///< OMP_NUM_THREADS or MKL_NUM_THREADS is set.
  int64_t local_world_size = 1;                ///< Ranks on this host.
};

/// Of this process.
ThreadSurroundings thread_surroundings(int64_t local_world_size);

/// The option, if it is given; else what the environment or at::set_num_threads() has set; else the cores (or the
/// quota, if it is less) divided by the ranks of the host, at least 1. A number that equals LibTorch's own default
/// does not count as set.
IntraOpThreads choose_intra_op_threads(std::optional<int64_t> option, const ThreadSurroundings& surroundings);

/// Processors' worth of time of a cgroup: the text of its cpu.max, "200000 100000". nullopt: no limit, or no such text.
std::optional<double> parse_cpu_quota(std::string_view text);

}  // namespace levin
