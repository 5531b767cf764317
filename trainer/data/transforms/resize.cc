#include "trainer/data/transforms/resize.h"

#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr int kNumTries = 10;
constexpr int64_t kMaxPixels = int64_t{1} << 27;  // of an image that keeps its aspect ratio

void check_size(const char* where, ImageSize size) {
  if (size.height < 1 || size.width < 1) {
    throw ConfigError(fmt::format("[{}] height and width must be >= 1, got {} x {}.", where, size.height, size.width));
  }
}

double uniform(RandomStream& stream, double low, double high) { return low + (high - low) * stream.uniform(); }

int64_t round_half_even(double value) { return static_cast<int64_t>(std::nearbyint(value)); }

}  // namespace

at::Tensor resize_images(const at::Tensor& images, ImageSize size) {
  if ((images.scalar_type() != at::kByte && !images.is_floating_point()) || images.size(2) == 0 ||
      images.size(3) == 0) {
    throw DataError(fmt::format("[resize_images] images must be uint8 or floating-point [B, C, H, W], got {}.",
                                describe_tensor(images)));
  }
  if (images.size(2) == size.height && images.size(3) == size.width) return images;
  return at::_upsample_bilinear2d_aa(images.contiguous(), {size.height, size.width}, /*align_corners=*/false);
}

Resize::Resize(ImageSize size) : size_(size) { check_size("Resize", size); }

Resize::Resize(int64_t shorter_side) : shorter_side_(shorter_side) {
  if (shorter_side < 1) throw ConfigError(fmt::format("[Resize] shorter_side must be >= 1, got {}.", shorter_side));
}

at::Tensor Resize::apply(const at::Tensor& images, const TransformRandom& /*random*/) const {
  if (size_) return resize_images(images, *size_);
  const int64_t height = images.size(2);
  const int64_t width = images.size(3);
  const int64_t shorter = std::max<int64_t>(1, std::min(height, width));
  const ImageSize size = {shorter_side_ * height / shorter, shorter_side_ * width / shorter};
  if (size.height > kMaxPixels / std::max<int64_t>(1, size.width)) {
    throw DataError(
        fmt::format("[Resize] an image of {} x {} pixels (width x height) would become {} x {}, which is too large. "
                    "Leave it out, or crop it first.",
                    width, height, size.width, size.height));
  }
  return resize_images(images, size);
}

RandomResizedCrop::RandomResizedCrop(ImageSize size, RandomResizedCropOptions options)
    : size_(size), options_(options) {
  check_size("RandomResizedCrop", size);
  const bool is_good = options.min_scale > 0.0 && options.min_scale <= options.max_scale && options.max_scale <= 1.0 &&
                       options.min_ratio > 0.0 && options.min_ratio <= options.max_ratio &&
                       std::isfinite(options.max_ratio);
  if (!is_good) {
    throw ConfigError(
        fmt::format("[RandomResizedCrop] the scale must be a range in (0, 1] and the ratio one above 0, got scale {} "
                    "to {}, ratio {} to {}.",
                    options.min_scale, options.max_scale, options.min_ratio, options.max_ratio));
  }
}

RandomResizedCrop::Part RandomResizedCrop::draw(ImageSize image, RandomStream& stream) const {
  const auto area = static_cast<double>(image.height * image.width);
  for (int i = 0; i < kNumTries; ++i) {
    const double part_area = area * uniform(stream, options_.min_scale, options_.max_scale);
    const double ratio = std::exp(uniform(stream, std::log(options_.min_ratio), std::log(options_.max_ratio)));
    const int64_t width = round_half_even(std::sqrt(part_area * ratio));
    const int64_t height = round_half_even(std::sqrt(part_area / ratio));
    if (width < 1 || width > image.width || height < 1 || height > image.height) continue;
    const int64_t top = stream.below(image.height - height + 1);
    const int64_t left = stream.below(image.width - width + 1);
    return {top, left, height, width};
  }
  return fallback(image);
}

RandomResizedCrop::Part RandomResizedCrop::fallback(ImageSize image) const {
  const double ratio = static_cast<double>(image.width) / static_cast<double>(image.height);
  int64_t height = image.height;
  int64_t width = image.width;
  if (ratio < options_.min_ratio) {
    height = std::clamp<int64_t>(round_half_even(static_cast<double>(width) / options_.min_ratio), 1, image.height);
  } else if (ratio > options_.max_ratio) {
    width = std::clamp<int64_t>(round_half_even(static_cast<double>(height) * options_.max_ratio), 1, image.width);
  }
  return {(image.height - height) / 2, (image.width - width) / 2, height, width};
}

at::Tensor RandomResizedCrop::apply(const at::Tensor& images, const TransformRandom& random) const {
  const ImageSize image_size = {images.size(2), images.size(3)};
  const auto take = [&](int64_t image) {
    RandomStream stream = random.stream(image);
    const Part part = draw(image_size, stream);
    return resize_images(images.narrow(0, image, 1).narrow(2, part.top, part.height).narrow(3, part.left, part.width),
                         size_);
  };
  if (images.size(0) == 1) return take(0).contiguous();
  at::Tensor result = at::empty({images.size(0), images.size(1), size_.height, size_.width}, images.options());
  for (int64_t image = 0; image < images.size(0); ++image) result.narrow(0, image, 1).copy_(take(image));
  return result;
}

}  // namespace levin
