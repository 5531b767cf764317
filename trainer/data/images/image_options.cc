#include "trainer/data/images/image_options.h"

#include <fmt/format.h>

#include "trainer/core/error.h"
#include "trainer/data/transforms/normalize.h"

namespace levin {

void PixelOptions::visit(OptionVisitor& visitor) {
  visitor.field("normalize_mean", normalize_mean, "of pixels in [0, 1]: one for each channel, or one; []: no change");
  visitor.field("normalize_std", normalize_std, "likewise, the standard deviation", above(0));
}

std::shared_ptr<const Transform> make_pixel_transform(const PixelOptions& options, int64_t num_channels) {
  const size_t size = options.normalize_mean.size();
  if (size != options.normalize_std.size() || (size > 1 && size != static_cast<size_t>(num_channels))) {
    throw ConfigError(
        fmt::format("[PixelOptions] normalize_mean and normalize_std must both have one value for each of the {} "
                    "channels, or one, or none, got {} and {}.",
                    num_channels, size, options.normalize_std.size()));
  }
  if (size == 0) return std::make_shared<ToFloat>();
  return std::make_shared<Normalize>(options.normalize_mean, options.normalize_std);
}

}  // namespace levin
