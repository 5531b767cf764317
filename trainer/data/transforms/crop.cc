#include "trainer/data/transforms/crop.h"

#include <fmt/format.h>

#include <cmath>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

void check_size(const char* where, ImageSize size) {
  if (size.height < 1 || size.width < 1) {
    throw ConfigError(fmt::format("[{}] height and width must be >= 1, got {} x {}.", where, size.height, size.width));
  }
}

// Half of a difference: towards the even number where the crop is smaller, down where the image is.
int64_t center_offset(int64_t image, int64_t window) {
  if (image < window) return -((window - image) / 2);
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(image - window) / 2.0));
}

}  // namespace

RandomCrop::RandomCrop(ImageSize size, int64_t padding, double fill) : size_(size), padding_(padding), fill_(fill) {
  check_size("RandomCrop", size);
  if (padding < 0) throw ConfigError(fmt::format("[RandomCrop] padding must be >= 0, got {}.", padding));
}

bool RandomCrop::join(PixelPass& pass, const TransformRandom& random) const {
  if (!pass.can_crop()) return false;
  const ImageSize image_size = pass.size();
  const int64_t free_rows = image_size.height + 2 * padding_ - size_.height;
  const int64_t free_columns = image_size.width + 2 * padding_ - size_.width;
  if (free_rows < 0 || free_columns < 0) {
    throw DataError(
        fmt::format("[RandomCrop] an image with its padding must be at least {} x {}, got {} x {} and {} pixels of "
                    "padding. Resize first, or set more padding.",
                    size_.height, size_.width, image_size.height, image_size.width, padding_));
  }
  if (pass.images().scalar_type() == at::kByte && !(fill_ >= 0.0 && fill_ <= 255.0)) {
    throw DataError(fmt::format("[RandomCrop] fill must be between 0 and 255 for uint8 images, got {}.", fill_));
  }
  pass.crop(size_, fill_);
  for (int64_t image = 0; image < pass.num_images(); ++image) {
    RandomStream stream = random.stream(image);
    const int64_t top = stream.below(free_rows + 1) - padding_;
    pass.set_corner(image, top, stream.below(free_columns + 1) - padding_);
  }
  return true;
}

CenterCrop::CenterCrop(ImageSize size) : size_(size) { check_size("CenterCrop", size); }

bool CenterCrop::join(PixelPass& pass, const TransformRandom& /*random*/) const {
  if (!pass.can_crop()) return false;
  const ImageSize image_size = pass.size();
  pass.crop(size_, 0.0);
  for (int64_t image = 0; image < pass.num_images(); ++image) {
    pass.set_corner(image, center_offset(image_size.height, size_.height),
                    center_offset(image_size.width, size_.width));
  }
  return true;
}

}  // namespace levin
