#pragma once

#include "trainer/data/images/decode_image.h"

namespace levin {

/// decode_image() of a PNG.
at::Tensor decode_png(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& name);

}  // namespace levin
