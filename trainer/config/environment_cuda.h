#pragma once

#include <string>
#include <vector>

namespace levin {

/// Version of the CUDA runtime that this build uses, "13.0"; empty in a build without CUDA.
std::string cuda_runtime_version();

/// One line for each CUDA device that this build can use: name, memory, compute capability. Empty in a build without
/// CUDA.
std::vector<std::string> describe_cuda_devices();

}  // namespace levin
