#pragma once

#include <cstdint>

#include "trainer/data/transforms/transform.h"

namespace levin {

/// A window of the image at a random place.
class RandomCrop final : public PixelTransform {
 public:
  /// size: of the window. padding: pixels that are added at each of the four sides first, with the value `fill` (in the
  /// images' own scale: 0 to 255 for uint8). All places are equally likely.
  /// Errors: ConfigError if a size is < 1 or the padding < 0.
  explicit RandomCrop(ImageSize size, int64_t padding = 0, double fill = 0.0);

  /// Any real element type. Errors: DataError if a padded image is smaller than the window, or uint8 images cannot have
  /// the value `fill`.
  bool join(PixelPass& pass, const TransformRandom& random) const override;
  bool gives_one_size() const override { return true; }

 private:
  ImageSize size_;
  int64_t padding_;
  double fill_;
};

/// The window in the middle. Its upper left corner is at round((H - height) / 2), round((W - width) / 2), where halves
/// are rounded to the even number; an image that is smaller is filled up with 0, the odd pixel below and on the right
/// (both as torchvision's center_crop).
class CenterCrop final : public PixelTransform {
 public:
  /// Errors: ConfigError if a size is < 1.
  explicit CenterCrop(ImageSize size);

  /// Any real element type.
  bool join(PixelPass& pass, const TransformRandom& random) const override;
  bool gives_one_size() const override { return true; }

 private:
  ImageSize size_;
};

}  // namespace levin
