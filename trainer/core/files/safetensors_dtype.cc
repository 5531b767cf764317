#include "trainer/core/files/safetensors_dtype.h"

#include <array>
#include <utility>

namespace levin {
namespace {

constexpr std::array<std::pair<at::ScalarType, std::string_view>, 19> kNames = {{
    {at::kDouble, "F64"},
    {at::kFloat, "F32"},
    {at::kHalf, "F16"},
    {at::kBFloat16, "BF16"},
    {at::kLong, "I64"},
    {at::kInt, "I32"},
    {at::kShort, "I16"},
    {at::kChar, "I8"},
    {at::kUInt64, "U64"},
    {at::kUInt32, "U32"},
    {at::kUInt16, "U16"},
    {at::kByte, "U8"},
    {at::kBool, "BOOL"},
    {at::kComplexFloat, "C64"},
    {at::kFloat8_e4m3fn, "F8_E4M3"},
    {at::kFloat8_e5m2, "F8_E5M2"},
    {at::kFloat8_e4m3fnuz, "F8_E4M3FNUZ"},
    {at::kFloat8_e5m2fnuz, "F8_E5M2FNUZ"},
    {at::kFloat8_e8m0fnu, "F8_E8M0"},
}};

}  // namespace

std::optional<std::string_view> safetensors_name(at::ScalarType dtype) {
  for (const auto& [candidate, name] : kNames) {
    if (candidate == dtype) return name;
  }
  return std::nullopt;
}

std::optional<at::ScalarType> dtype_of_safetensors_name(std::string_view name) {
  for (const auto& [dtype, candidate] : kNames) {
    if (candidate == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace levin
