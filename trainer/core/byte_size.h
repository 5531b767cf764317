#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace levin {

/// The form of an amount of memory in options, for error texts.
inline constexpr std::string_view kByteSizeForm =
    "a number with a unit: 512MiB, 8GiB, 1.5TiB, 4096KiB, or bytes: 1000B";

/// "8GiB" in bytes: a number > 0 and one of B, KiB, MiB, GiB and TiB (powers of 1024) or kB, MB, GB and TB (of 1000).
/// A blank between them is allowed. nullopt if it is something else, or more than 2^62 bytes.
std::optional<int64_t> try_parse_byte_size(std::string_view text);

/// "1.5 GiB": four significant digits, in the largest unit of 1024 that gives at least 1.
std::string format_byte_size(int64_t bytes);

}  // namespace levin
