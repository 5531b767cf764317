#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace levin {

/// A PNG file (ISO/IEC 15948) of 8 bits a channel. `pixels` [height, width, channels] in rows, channels 1 (grey) or 3
/// (red, green, blue), height and width >= 1. Errors: InternalError if the sizes do not fit.
std::string encode_png(std::span<const uint8_t> pixels, uint32_t height, uint32_t width, uint32_t channels);

}  // namespace levin
