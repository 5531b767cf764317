#include "trainer/out_of_memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

namespace levin {

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  constexpr std::array<std::string_view, 4> kTexts = {"DefaultCPUAllocator: can't allocate memory",
                                                      "DefaultCPUAllocator: not enough memory",
                                                      "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"};
  const std::string_view text = error.what();
  return std::any_of(kTexts.begin(), kTexts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

void release_cached_memory(c10::Device device) {
  if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->emptyCache();
}

}  // namespace levin
