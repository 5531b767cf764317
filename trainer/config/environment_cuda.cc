#include "trainer/config/environment_cuda.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace levin {

std::string cuda_runtime_version() {
  int version = 0;  // 13000 is 13.0
  if (cudaRuntimeGetVersion(&version) != cudaSuccess) return "unknown";
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<std::string> describe_cuda_devices() {
  std::vector<std::string> lines;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return lines;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) continue;
    lines.push_back(fmt::format("{}: {}, {:.1f} GiB, compute capability {}.{}", device, properties.name,
                                static_cast<double>(properties.totalGlobalMem) / (1024.0 * 1024.0 * 1024.0),
                                properties.major, properties.minor));
  }
  return lines;
}

}  // namespace levin
