#pragma once

#include <memory>
#include <optional>
#include <string>

#include "trainer/core/option_visitor.h"
#include "trainer/data/images/image_options.h"
#include "trainer/data/split_data.h"

namespace levin {

/// Data of MNIST's kind: grey images and labels in IDX files, gzip-compressed or not. A batch is the list [images
/// float32 [B, 1, H, W], labels int64 [B]]; labels are -1 where a prediction has no file of them. Crop and flip are for
/// training alone.
class IdxImageData final : public SplitData {
 public:
  struct Options {
    std::optional<std::string> train_images = std::nullopt;
    std::optional<std::string> train_labels = std::nullopt;
    std::optional<std::string> val_images = std::nullopt;
    std::optional<std::string> val_labels = std::nullopt;
    std::optional<std::string> test_images = std::nullopt;
    std::optional<std::string> test_labels = std::nullopt;
    std::optional<std::string> predict_images = std::nullopt;
    std::optional<std::string> predict_labels = std::nullopt;
    int64_t num_classes = 10;
    PixelOptions pixels = {};
    int64_t crop_padding = 0;  ///< Above 0: a RandomCrop of the image's own size, after so much padding.
    double random_flip = 0.0;  ///< Probability of a RandomHorizontalFlip.
    int64_t batch_size = 128;
    int64_t eval_batch_size = 1000;
    LoaderOptions workers = {};  ///< The worker options are used.
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError if normalize_mean and normalize_std do not fit each other. Those of setup(): ConfigError if a
  /// split has images but no labels, or labels but no images; DataError as of IdxImageDataset.
  explicit IdxImageData(Options options);

 private:
  struct Files {
    std::optional<std::string> images;
    std::optional<std::string> labels;
  };

  Files files(Split split) const;
  std::shared_ptr<const Dataset> open(Split split) override;
  std::shared_ptr<const Dataset> read(Split split) const;
  Transforms make_transforms(Split split, const Dataset& dataset) const;

  Options options_;
  std::shared_ptr<const Transform> to_numbers_;
};

}  // namespace levin
