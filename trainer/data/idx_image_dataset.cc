#include "trainer/data/idx_image_dataset.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/max.h>
#include <fmt/format.h>

#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/idx_file.h"

namespace levin {
namespace {

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

at::Tensor look_up(const at::Tensor& pixels, const std::vector<float>& table) {
  at::Tensor result = at::empty(pixels.sizes(), at::kFloat);
  const auto* from = pixels.const_data_ptr<uint8_t>();
  auto* to = result.mutable_data_ptr<float>();
  for (int64_t i = 0; i < pixels.numel(); ++i) to[i] = table[from[i]];
  return result;
}

}  // namespace

at::Tensor read_idx_images(const std::filesystem::path& path) {
  at::Tensor images = read_idx(path);
  if (images.dim() != 3) {
    throw DataError(fmt::format("[IdxImageDataset] {} must hold images [N, H, W], got {}.", path.string(),
                                describe_tensor(images)));
  }
  return images.unsqueeze(1);
}

IdxImageDataset::IdxImageDataset(const std::filesystem::path& images, const std::filesystem::path& labels,
                                 int64_t num_classes)
    : labels_(read_labels(labels, num_classes)) {
  images_ = read_idx_images(images);
  if (images_.size(0) != labels_.size(0)) {
    throw DataError(fmt::format("[IdxImageDataset] {} has {} images, but {} has {} labels.", images.string(),
                                images_.size(0), labels.string(), labels_.size(0)));
  }
}

IdxImageDataset::IdxImageDataset(const std::filesystem::path& images, const std::filesystem::path& labels,
                                 int64_t num_classes, double mean, double std)
    : IdxImageDataset(images, labels, num_classes) {
  const auto scale = static_cast<float>(1.0 / (255.0 * std));
  const auto shift = static_cast<float>(-mean / std);
  for (int pixel = 0; pixel < 256; ++pixel) normalized_.push_back(static_cast<float>(pixel) * scale + shift);
}

Batch IdxImageDataset::get_batch(std::span<const int64_t> indices, const SampleRandom& /*random*/) const {
  at::Tensor images = take_rows(images_, indices);
  if (!normalized_.empty()) images = look_up(images, normalized_);
  return Batch::of(std::move(images), take_rows(labels_, indices));
}

}  // namespace levin
