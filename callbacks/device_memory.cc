#include "callbacks/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace levin {
namespace {

// c10::getDeviceAllocator() throws where there is none.
c10::DeviceAllocator* allocator_of(at::Device device) {
  if (device.is_cpu() || !c10::impl::hasDeviceGuardImpl(device.type())) return nullptr;
  try {
    auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
    return allocator != nullptr && allocator->initialized() ? allocator : nullptr;
  } catch (const c10::Error&) {  // none is registered
    return nullptr;
  }
}

}  // namespace

std::optional<DeviceMemory> device_memory(at::Device device) {
  c10::DeviceAllocator* allocator = allocator_of(device);
  if (allocator == nullptr) return std::nullopt;
  const auto stats = allocator->getDeviceStats(device.has_index() ? device.index() : c10::DeviceIndex{0});
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return DeviceMemory{.allocated_bytes = stats.allocated_bytes[kAll].current,
                      .reserved_bytes = stats.reserved_bytes[kAll].current,
                      .peak_allocated_bytes = stats.allocated_bytes[kAll].peak,
                      .peak_reserved_bytes = stats.reserved_bytes[kAll].peak,
                      .num_alloc_retries = stats.num_alloc_retries,
                      .num_ooms = stats.num_ooms};
}

}  // namespace levin
