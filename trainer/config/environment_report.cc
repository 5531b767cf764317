#include "trainer/config/environment_report.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/version.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "trainer/config/environment_cuda.h"
#include "trainer/core/version.h"

namespace levin {
namespace {

const at::CUDAHooksInterface& cuda_hooks() { return at::detail::getCUDAHooks(); }

std::string cuda_version() {
  const std::string version = cuda_runtime_version();
  return version.empty() ? "not in this build (build with --config=cuda)" : version;
}

// 91300 -> "9.13.0"
std::string cudnn_version() {
  if (!cuda_hooks().hasCuDNN()) return "not in this build";
  const long version = cuda_hooks().versionRuntimeCuDNN();
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

// 22809 -> "2.28.9"
std::string nccl_version() {
  using GetVersion = int (*)(int*);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(RTLD_DEFAULT, "ncclGetVersion"));
  int version = 0;
  if (get_version == nullptr || get_version(&version) != 0) return "not in this build";
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

// Asks the libraries that are loaded, not the headers: a back-end is there if its type is.
std::string process_group_backends() {
  static constexpr std::array<std::pair<const char*, const char*>, 4> kTypeInfos = {{
      {"gloo", "_ZTIN4c10d16ProcessGroupGlooE"},
      {"nccl", "_ZTIN4c10d16ProcessGroupNCCLE"},
      {"mpi", "_ZTIN4c10d15ProcessGroupMPIE"},
      {"ucc", "_ZTIN4c10d15ProcessGroupUCCE"},
  }};
  std::vector<std::string> found;
  for (const auto& [name, symbol] : kTypeInfos) {
    if (dlsym(RTLD_DEFAULT, symbol) != nullptr) found.emplace_back(name);
  }
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

// The text after the colon of the first line of /proc/cpuinfo that begins with `key`.
std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string cpu_features() {
  static constexpr std::array<const char*, 12> kFeatures = {"avx",         "avx2",     "fma",         "f16c",
                                                            "avx512f",     "avx512bw", "avx512_vnni", "avx512_bf16",
                                                            "avx512_fp16", "amx_tile", "amx_bf16",    "amx_int8"};
  std::istringstream flags(cpuinfo("flags"));
  std::vector<std::string> found;
  for (std::string flag; flags >> flag;) {
    for (const char* feature : kFeatures) {
      if (flag == feature) found.push_back(flag);
    }
  }
  return fmt::format("{} (LibTorch uses {})", fmt::join(found, ", "), at::get_cpu_capability());
}

std::string memory() {
  const double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return fmt::format("{:.1f} GiB", bytes / (1024.0 * 1024.0 * 1024.0));
}

}  // namespace

std::string environment_report() {
  std::string report;
  const auto add = [&](const char* name, const std::string& value) {
    report += fmt::format("{:<24} {}\n", name, value);
  };
  add("Levin", kVersion);
  add("LibTorch", TORCH_VERSION);
  add("CUDA", cuda_version());
  add("cuDNN", cudnn_version());
  add("NCCL", nccl_version());
  add("devices", fmt::format("{} CUDA devices", cuda_hooks().deviceCount()));
  for (const std::string& line : describe_cuda_devices()) add("", line);
  add("processor", cpuinfo("model name"));
  add("processor features", cpu_features());
  add("processors online", fmt::format("{}", sysconf(_SC_NPROCESSORS_ONLN)));
  add("memory", memory());
  add("threads", fmt::format("{} intra-op, {} inter-op", at::get_num_threads(), at::get_num_interop_threads()));
  add("process-group back-ends", process_group_backends());
  add("compiler", __VERSION__);
  return report;
}

}  // namespace levin
