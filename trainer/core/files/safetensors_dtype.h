#pragma once

#include <c10/core/ScalarType.h>

#include <optional>
#include <string_view>

namespace levin {

/// The dtypes that LibTorch and safetensors share: F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL,
/// C64, F8_E4M3, F8_E5M2, F8_E4M3FNUZ, F8_E5M2FNUZ and F8_E8M0. nullopt: the other side has no such dtype.
std::optional<std::string_view> safetensors_name(at::ScalarType dtype);
std::optional<at::ScalarType> dtype_of_safetensors_name(std::string_view name);

}  // namespace levin
