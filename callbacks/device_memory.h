#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace levin {

/// What this process holds of a device, by LibTorch's caching allocator. The peaks and counts are those since the
/// process started, or since the program reset them.
struct DeviceMemory {
  int64_t allocated_bytes = 0;  ///< In tensors.
  int64_t reserved_bytes = 0;   ///< Taken from the device: in tensors, or kept for the next ones.
  int64_t peak_allocated_bytes = 0;
  int64_t peak_reserved_bytes = 0;
  int64_t num_alloc_retries = 0;  ///< Times the kept memory had to be given back to make room.
  int64_t num_ooms = 0;           ///< Times there was no room even so.
};

/// nullopt for the CPU, and for a device that this build or LibTorch's allocator knows nothing of. Does not wait for
/// the device.
std::optional<DeviceMemory> device_memory(at::Device device);

}  // namespace levin
