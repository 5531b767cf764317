#include "trainer/data/images/pixel_planes.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cstring>

#include "trainer/core/error.h"

namespace levin {
namespace {

at::Tensor make_planes(int64_t channels, int64_t height, int64_t width, const std::string& name) {
  try {
    return at::empty({channels, height, width}, at::kByte);
  } catch (const c10::Error&) {
    throw DataError(
        fmt::format("[decode_image] there is no memory for {}: {} x {} pixels. Set max_pixels lower to refuse it.",
                    name, height, width));
  }
}

// a * b / 255, rounded; exact for bytes.
uint32_t scale(uint32_t a, uint32_t b) {
  const uint32_t product = a * b + 128;
  return (product + (product >> 8)) >> 8;
}

}  // namespace

PixelPlanes::PixelPlanes(int64_t channels, int64_t height, int64_t width, const std::string& name)
    : planes_(make_planes(channels, height, width, name)),
      data_(planes_.mutable_data_ptr<uint8_t>()),
      is_grey_(channels == 1),
      height_(height),
      width_(width) {}

void PixelPlanes::set_pixel(int64_t at, uint32_t red, uint32_t green, uint32_t blue) noexcept {
  if (is_grey_) {
    // The weights of ITU-R BT.601 in 16 bits, as JPEG's luma has them.
    data_[at] = static_cast<uint8_t>((19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16);
    return;
  }
  const int64_t plane = height_ * width_;
  data_[at] = static_cast<uint8_t>(red);
  data_[at + plane] = static_cast<uint8_t>(green);
  data_[at + 2 * plane] = static_cast<uint8_t>(blue);
}

void PixelPlanes::set_row(int64_t y, const uint8_t* pixels, Source source) noexcept {
  const int64_t begin = y * width_;
  if (source == Source::kGrey) {
    for (int64_t channel = 0; channel < (is_grey_ ? 1 : 3); ++channel) {
      std::memcpy(data_ + channel * height_ * width_ + begin, pixels, static_cast<size_t>(width_));
    }
    return;
  }
  if (source == Source::kRgb) {
    for (int64_t x = 0; x < width_; ++x, pixels += 3) set_pixel(begin + x, pixels[0], pixels[1], pixels[2]);
    return;
  }
  const uint32_t inverts = source == Source::kCmyk ? 255 : 0;
  for (int64_t x = 0; x < width_; ++x, pixels += 4) {
    const uint32_t light = pixels[3] ^ inverts;
    set_pixel(begin + x, scale(pixels[0] ^ inverts, light), scale(pixels[1] ^ inverts, light),
              scale(pixels[2] ^ inverts, light));
  }
}

int64_t bytes_per_pixel(PixelPlanes::Source source) {
  if (source == PixelPlanes::Source::kGrey) return 1;
  return source == PixelPlanes::Source::kRgb ? 3 : 4;
}

void check_num_pixels(int64_t height, int64_t width, int64_t max_pixels, const std::string& name) {
  if (height > max_pixels / width) {
    throw DataError(fmt::format(
        "[decode_image] {} is too large: {} x {} pixels (width x height), at most {} are allowed. Is it damaged? "
        "If not, set max_pixels higher.",
        name, width, height, max_pixels));
  }
}

}  // namespace levin
