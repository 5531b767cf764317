#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "trainer/data/dataset.h"

namespace levin {

/// Grey images and their labels from a pair of IDX files. A batch is the list [images, labels]: images [B, 1, H, W],
/// float32 or uint8; labels int64 [B]. In memory an image takes one byte a pixel.
class IdxImageDataset final : public Dataset {
 public:
  /// Images as they are in the file, uint8, for transforms to follow. Errors: as below.
  IdxImageDataset(const std::filesystem::path& images, const std::filesystem::path& labels, int64_t num_classes);
  /// Images float32, normalised to (pixel / 255 - mean) / std. mean, std: of the pixels scaled to [0, 1]; std > 0.
  /// Errors: DataError if a file is missing or damaged, the two differ in length, or a label is not below num_classes.
  IdxImageDataset(const std::filesystem::path& images, const std::filesystem::path& labels, int64_t num_classes,
                  double mean, double std);

  int64_t size() const override { return labels_.size(0); }
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override;

 private:
  at::Tensor images_;              // uint8 [N, 1, H, W]
  at::Tensor labels_;              // int64 [N]
  std::vector<float> normalized_;  // what each value of a pixel becomes; empty: it stays
};

/// The images of an IDX file: uint8 [N, 1, H, W]. Errors: DataError if it is missing, damaged, or holds no images.
at::Tensor read_idx_images(const std::filesystem::path& path);

}  // namespace levin
