#pragma once

#include <vector>

#include "trainer/data/transforms/transform.h"

namespace levin {

/// uint8 pixels as float32 in [0, 1]: pixel / 255. Images of floating-point numbers stay as they are.
class ToFloat final : public PixelTransform {
 public:
  /// Errors: DataError if the images are neither.
  bool join(PixelPass& pass, const TransformRandom& random) const override;
};

/// (x - mean) / std, with a mean and a standard deviation for each channel. uint8 images become float32, and x is
/// pixel / 255, so that ToFloat is not needed before; images of floating-point numbers are taken as they are.
class Normalize final : public Transform {
 public:
  /// mean, std: one value for each channel, or one for all; std > 0. Errors: ConfigError.
  Normalize(std::vector<double> mean, std::vector<double> std);

  /// Errors: DataError if the number of channels differs, or the images are neither uint8 nor floating-point.
  at::Tensor apply(const at::Tensor& images, const TransformRandom& random) const override;
  bool join(PixelPass& pass, const TransformRandom& random) const override;

 private:
  void check_channels(const at::Tensor& images) const;
  at::Tensor parameter(const std::vector<double>& values, const at::Tensor& images) const;

  std::vector<double> mean_;
  std::vector<double> std_;
  std::vector<float> tables_;  // [channels, 256]: what each value of a byte becomes
};

}  // namespace levin
