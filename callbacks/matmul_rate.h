#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "callbacks/clock.h"

namespace levin {

/// Floating-point operations a second that `device` reaches in products of square matrices of `dtype`: the best of
/// several sizes up to [4096, 4096], each tried several times, with 2 n^3 operations for a product. What no model can
/// beat by much, and closer to what one can reach than the maker's figure.
///
/// Takes about 0.4 s on a CPU, less on a GPU; waits for the device. Draws no random numbers, and gives up a size that
/// does not fit into memory. 0 if none does. Errors: ConfigError if the device has no product of that type.
double measure_matmul_rate(at::Device device, at::ScalarType dtype, const ClockFunction& now_s = steady_now_s);

}  // namespace levin
