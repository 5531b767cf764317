#pragma once

namespace levin {

/// Semantic version of Levin.
inline constexpr const char* kVersion = "0.1.0";

}  // namespace levin
