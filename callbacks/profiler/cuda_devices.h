#pragma once

#include <vector>

namespace levin {

/// The CUDA devices that this process has used so far; none without CUDA. Asking uses no device.
std::vector<int> used_cuda_devices();

/// Waits until the CUDA devices that this process has used have done all that they were given. Returns whether there
/// was any. Errors: LibTorch's c10::AcceleratorError for what failed on the device before.
bool synchronize_cuda_devices();

}  // namespace levin
