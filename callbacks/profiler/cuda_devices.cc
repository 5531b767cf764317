#include "callbacks/profiler/cuda_devices.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace levin {
namespace {

// Without CUDA in this build the hooks know of no device, and there is no guard.
int num_devices() {
  static const int count =
      c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA) ? at::detail::getCUDAHooks().deviceCount() : 0;
  return count;
}

}  // namespace

// A device without a context was not used; to synchronise it would make one, which takes memory and time.
std::vector<int> used_cuda_devices() {
  std::vector<int> devices;
  for (int i = 0; i < num_devices(); ++i) {
    if (at::detail::getCUDAHooks().hasPrimaryContext(static_cast<c10::DeviceIndex>(i))) devices.push_back(i);
  }
  return devices;
}

bool synchronize_cuda_devices() {
  if (num_devices() == 0) return false;
  const std::vector<int> devices = used_cuda_devices();
  for (const int device : devices) {
    c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).synchronizeDevice(static_cast<c10::DeviceIndex>(device));
  }
  return !devices.empty();
}

}  // namespace levin
