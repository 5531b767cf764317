#pragma once

#include <filesystem>

#include "trainer/data/dataset.h"

namespace levin {

/// Grey images and their labels from a pair of IDX files. A batch is the list [images, labels]:
/// images float32 [B, 1, H, W], normalised to (pixel / 255 - mean) / std; labels int64 [B].
/// In memory an image takes one byte a pixel.
class IdxImageDataset final : public Dataset {
 public:
  /// mean, std: of the pixels scaled to [0, 1]; std > 0.
  /// Errors: DataError if a file is missing or damaged, the two differ in length, or a label is not below num_classes.
  IdxImageDataset(const std::filesystem::path& images, const std::filesystem::path& labels, int64_t num_classes,
                  double mean, double std);

  int64_t size() const override { return labels_.size(0); }
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override;

 private:
  at::Tensor images_;  // uint8 [N, 1, H, W]
  at::Tensor labels_;  // int64 [N]
  double scale_;       // normalised = pixel * scale + shift
  double shift_;
};

}  // namespace levin
