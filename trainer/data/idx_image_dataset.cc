#include "trainer/data/idx_image_dataset.h"

#include <ATen/ops/max.h>
#include <fmt/format.h>

#include "trainer/core/error.h"
#include "trainer/data/idx_file.h"

namespace levin {
namespace {

at::Tensor read_images(const std::filesystem::path& path) {
  at::Tensor images = read_idx(path);
  if (images.dim() != 3) {
    throw DataError(fmt::format("[IdxImageDataset] {} must hold images [N, H, W], got {}.", path.string(),
                                describe_tensor(images)));
  }
  return images.unsqueeze(1);
}

at::Tensor read_labels(const std::filesystem::path& path, int64_t num_classes) {
  const at::Tensor labels = read_idx(path);
  if (labels.dim() != 1) {
    throw DataError(
        fmt::format("[IdxImageDataset] {} must hold labels [N], got {}.", path.string(), describe_tensor(labels)));
  }
  if (labels.numel() > 0 && labels.max().item<int64_t>() >= num_classes) {
    throw DataError(fmt::format("[IdxImageDataset] {} has the label {}, but there are {} classes (0 to {}).",
                                path.string(), labels.max().item<int64_t>(), num_classes, num_classes - 1));
  }
  return labels.to(at::kLong);
}

}  // namespace

IdxImageDataset::IdxImageDataset(const std::filesystem::path& images, const std::filesystem::path& labels,
                                 int64_t num_classes, double mean, double std)
    : labels_(read_labels(labels, num_classes)), scale_(1.0 / (255.0 * std)), shift_(-mean / std) {
  images_ = read_images(images);
  if (images_.size(0) != labels_.size(0)) {
    throw DataError(fmt::format("[IdxImageDataset] {} has {} images, but {} has {} labels.", images.string(),
                                images_.size(0), labels.string(), labels_.size(0)));
  }
}

Batch IdxImageDataset::get_batch(std::span<const int64_t> indices, const SampleRandom& /*random*/) const {
  return Batch::of(take_rows(images_, indices).to(at::kFloat).mul_(scale_).add_(shift_), take_rows(labels_, indices));
}

}  // namespace levin
