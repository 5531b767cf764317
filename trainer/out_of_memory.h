#pragma once

#include <c10/core/Device.h>

#include <exception>

namespace levin {

/// True if `error` says that the memory of the device or of the machine did not suffice: c10::OutOfMemoryError,
/// std::bad_alloc, and the errors of LibTorch's CPU allocator and of cuBLAS, which have no type of their own.
bool is_out_of_memory(const std::exception& error);

/// Lets the device's allocator hand back the memory that it keeps for later; on the CPU it keeps none.
void release_cached_memory(c10::Device device);

}  // namespace levin
