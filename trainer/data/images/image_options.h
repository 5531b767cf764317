#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/core/option_visitor.h"
#include "trainer/data/transforms/transform.h"

namespace levin {

/// How pixels become numbers, as data modules show it among their options.
struct PixelOptions {
  /// Of the pixels scaled to [0, 1], one value for each channel or one for all. Empty, both: pixels are in [0, 1].
  std::vector<double> normalize_mean = {};
  std::vector<double> normalize_std = {};
  void visit(OptionVisitor& visitor);
};

/// The transform to float32: Normalize, or ToFloat where there is neither mean nor std. num_channels: of the images.
/// Errors: ConfigError if the lists fit neither each other nor the channels, or a std is not above 0.
std::shared_ptr<const Transform> make_pixel_transform(const PixelOptions& options, int64_t num_channels);

}  // namespace levin
