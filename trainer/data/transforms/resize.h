#pragma once

#include <cstdint>
#include <optional>

#include "trainer/data/transforms/crop.h"
#include "trainer/data/transforms/transform.h"

namespace levin {

/// Images [B, C, H, W] at another size: bilinear, with antialiasing where they become smaller (LibTorch's
/// _upsample_bilinear2d_aa). uint8 or floating-point; the type stays.
/// Errors: DataError if the images are of another type or have no pixels.
at::Tensor resize_images(const at::Tensor& images, ImageSize size);

/// Brings the images to a size with resize_images().
class Resize final : public Transform {
 public:
  /// To exactly this size, whatever the aspect ratio was. Errors: ConfigError if a size is < 1.
  explicit Resize(ImageSize size);
  /// The shorter side to `shorter_side`, the longer one to shorter_side * longer / shorter, rounded down (as
  /// torchvision's Resize). Errors: ConfigError if it is < 1.
  explicit Resize(int64_t shorter_side);

  at::Tensor apply(const at::Tensor& images, const TransformRandom& random) const override;
  bool gives_one_size() const override { return size_.has_value(); }

 private:
  std::optional<ImageSize> size_;
  int64_t shorter_side_ = 0;
};

/// What part of an image a RandomResizedCrop takes.
struct RandomResizedCropOptions {
  double min_scale = 0.08;  ///< Part of the image's area, uniform between the two; in (0, 1].
  double max_scale = 1.0;
  double min_ratio = 3.0 / 4.0;  ///< Width / height, log-uniform between the two; > 0.
  double max_ratio = 4.0 / 3.0;
};

/// A random part of the image, resized (Szegedy and others 2015, arXiv:1409.4842; drawn as torchvision does: ten tries
/// to fit a part of the drawn area and ratio, then the largest one in the middle of an allowed ratio).
class RandomResizedCrop final : public Transform {
 public:
  /// Errors: ConfigError if an option is out of range.
  explicit RandomResizedCrop(ImageSize size, RandomResizedCropOptions options = {});

  at::Tensor apply(const at::Tensor& images, const TransformRandom& random) const override;
  bool gives_one_size() const override { return true; }

  /// A part of an image.
  struct Part {
    int64_t top;
    int64_t left;
    int64_t height;
    int64_t width;
  };
  /// The part that is taken of an image of size `image`.
  Part draw(ImageSize image, RandomStream& stream) const;

 private:
  Part fallback(ImageSize image) const;

  ImageSize size_;
  RandomResizedCropOptions options_;
};

}  // namespace levin
