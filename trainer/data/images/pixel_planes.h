#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace levin {

/// Takes the rows of an image as decoders give them, pixel by pixel, into planes: uint8 [C, H, W].
///
/// No method throws or allocates once the object is made, so that a decoder may call it from where it can leave by
/// longjmp().
class PixelPlanes {
 public:
  /// What a pixel of a row is.
  enum class Source {
    kGrey,
    kRgb,
    kInvertedCmyk,  ///< 255 is no ink, as Adobe's programs write it.
    kCmyk,
  };

  /// channels: 1 or 3. Errors: DataError if there is no memory for it; name: of the image.
  PixelPlanes(int64_t channels, int64_t height, int64_t width, const std::string& name);

  /// Row `y`, in [0, height), of width pixels of kind `source`.
  void set_row(int64_t y, const uint8_t* pixels, Source source) noexcept;

  at::Tensor tensor() const { return planes_; }

 private:
  void set_pixel(int64_t at, uint32_t red, uint32_t green, uint32_t blue) noexcept;

  at::Tensor planes_;
  uint8_t* data_;
  bool is_grey_;
  int64_t height_;
  int64_t width_;
};

/// Bytes of a pixel.
int64_t bytes_per_pixel(PixelPlanes::Source source);

/// Errors: DataError if an image of that size has more pixels than max_pixels.
void check_num_pixels(int64_t height, int64_t width, int64_t max_pixels, const std::string& name);

}  // namespace levin
