#pragma once

#include "trainer/data/images/decode_image.h"

namespace levin {

/// decode_image() of a JPEG.
at::Tensor decode_jpeg(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& name);

}  // namespace levin
