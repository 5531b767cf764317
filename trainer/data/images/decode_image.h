#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace levin {

/// What an image file becomes.
struct DecodeOptions {
  /// 3: RGB, 1: grey. Whatever the file has is converted.
  int64_t channels = 3;
  /// An image of more pixels is refused before memory is taken for it.
  int64_t max_pixels = int64_t{1} << 27;
  /// Above 0: a JPEG is decoded at 1/2, 1/4 or 1/8 of its size where its shorter side still has so many pixels, which
  /// takes a fraction of the time. 0: at its full size.
  int64_t min_side = 0;
};

/// The image in the bytes of a PNG or JPEG file, which of the two being told by its first bytes: uint8 [C, H, W].
///
/// A transparency channel is left out, of 16 bits the upper eight are kept, palettes become colours, CMYK and YCCK
/// become RGB without colour profiles. Grey of a PNG's RGB is (299 R + 587 G + 114 B) / 1000, of a JPEG its luma. The
/// orientation that EXIF data name is not applied, nor are gamma and colour profiles. Safe from several threads.
///
/// name: of the image, for errors. Errors: DataError if it is neither PNG nor JPEG, is damaged, cut off, or too large;
/// ConfigError if channels is neither 1 nor 3, max_pixels < 1 or min_side < 0.
at::Tensor decode_image(std::span<const uint8_t> bytes, const DecodeOptions& options = {},
                        const std::string& name = "the image");

/// The image in a file. Errors: DataError if it cannot be read, and of the function above, with the path.
at::Tensor decode_image(const std::filesystem::path& path, const DecodeOptions& options = {});

}  // namespace levin
