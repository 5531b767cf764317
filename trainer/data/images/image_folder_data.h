#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/core/option_visitor.h"
#include "trainer/data/images/image_folder.h"
#include "trainer/data/images/image_options.h"
#include "trainer/data/split_data.h"

namespace levin {

/// Images in folders (see ImageFolder), as square images of one size. A batch is the list [images float32
/// [B, C, image_size, image_size], labels int64 [B]]. In evaluation the shorter side is resized to resize_size and the
/// middle taken; training augments.
///
/// Labels of all splits are those of the training classes. predict_dir needs no class folders; its labels are -1.
class ImageFolderData final : public SplitData {
 public:
  struct Options {
    std::optional<std::string> train_dir = std::nullopt;
    std::optional<std::string> val_dir = std::nullopt;
    std::optional<std::string> test_dir = std::nullopt;
    std::optional<std::string> predict_dir = std::nullopt;
    /// In the order of their labels. Empty: the folders of train_dir; without one, those of the split itself.
    std::vector<std::string> classes = {};
    int64_t image_size = 224;
    /// Default: 8/7 of image_size, 256 for 224.
    std::optional<int64_t> resize_size = std::nullopt;
    bool grey = false;  ///< One channel in place of three.
    /// "random_resized": RandomResizedCrop. "random": shorter side to resize_size, then a RandomCrop. "center": as in
    /// evaluation.
    std::string train_crop = "random_resized";
    std::vector<double> crop_scale = {0.08, 1.0};
    std::vector<double> crop_ratio = {3.0 / 4.0, 4.0 / 3.0};
    int64_t crop_padding = 0;  ///< Of "random".
    double random_flip = 0.5;
    PixelOptions pixels = {};
    /// Decode a JPEG at a fraction of its size where its shorter side keeps twice resize_size.
    bool jpeg_scaling = false;
    int64_t max_pixels = DecodeOptions().max_pixels;
    int64_t batch_size = 32;
    int64_t eval_batch_size = 64;
    LoaderOptions workers = {};  ///< The worker options are used.
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError if options do not fit together. Those of setup(): DataError, as of ImageFolder.
  explicit ImageFolderData(Options options);

  /// The names of the labels; known after setup(), but for prediction alone.
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  int64_t num_channels() const { return options_.grey ? 1 : 3; }
  int64_t resize_size() const;
  Transforms make_train_transforms() const;
  Transforms make_eval_transforms() const;
  const std::optional<std::string>& dir(Split split) const;
  std::shared_ptr<const Dataset> open(Split split) override;
  ImageFolderOptions folder_options(bool has_classes);

  Options options_;
  Transforms train_transforms_;
  Transforms eval_transforms_;
  std::vector<std::string> classes_;
};

}  // namespace levin
