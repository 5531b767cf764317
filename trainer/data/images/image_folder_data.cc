#include "trainer/data/images/image_folder_data.h"

#include <fmt/format.h>

#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/transforms/crop.h"
#include "trainer/data/transforms/flip.h"
#include "trainer/data/transforms/resize.h"
#include "trainer/data/transforms/transformed_dataset.h"

namespace levin {
namespace {

void check_range(const char* name, const std::vector<double>& range) {
  if (range.size() != 2) {
    throw ConfigError(
        fmt::format("[ImageFolderData] {} must be [least, greatest], got {} values.", name, range.size()));
  }
}

}  // namespace

void ImageFolderData::Options::visit(OptionVisitor& visitor) {
  visitor.field("train_dir", train_dir, "folder with one folder of training images for each class");
  visitor.field("val_dir", val_dir, "the same for validation");
  visitor.field("test_dir", test_dir, "the same for testing");
  visitor.field("predict_dir", predict_dir, "folder with images to predict, with or without class folders");
  visitor.field("classes", classes, "class names in the order of labels; []: the folders of train_dir, sorted");
  visitor.field("image_size", image_size, "side of the square images, in pixels", at_least(1));
  visitor.field("resize_size", resize_size, "shorter side before the crop; null: 8/7 of image_size", at_least(1));
  visitor.field("grey", grey, "one channel in place of three");
  visitor.field("train_crop", train_crop, "how training cuts image_size out of an image",
                one_of({"random_resized", "random", "center"}));
  visitor.field("crop_scale", crop_scale, "random_resized: range of the part of the area that is taken", between(0, 1));
  visitor.field("crop_ratio", crop_ratio, "random_resized: range of its width / height", above(0));
  visitor.field("crop_padding", crop_padding, "random: pixels of padding before the crop", at_least(0));
  visitor.field("random_flip", random_flip, "training: probability that an image is mirrored", between(0, 1));
  pixels.visit(visitor);
  visitor.field("jpeg_scaling", jpeg_scaling, "decode large JPEGs at a fraction of their size: faster, a bit softer");
  visitor.field("max_pixels", max_pixels, "an image with more is an error", at_least(1));
  visitor.field("batch_size", batch_size, "images of a training batch, on each rank", at_least(1));
  visitor.field("eval_batch_size", eval_batch_size, "images of a batch elsewhere", at_least(1));
  visit_worker_options(workers, visitor);
}

ImageFolderData::ImageFolderData(Options options)
    : SplitData(with_batch_size(options.workers, options.batch_size), options.eval_batch_size),
      options_(std::move(options)) {
  OptionChecker checker;
  options_.visit(checker);
  if (!checker.problems().empty()) throw ConfigError("[ImageFolderData] " + checker.problems().front() + ".");
  check_range("crop_scale", options_.crop_scale);
  check_range("crop_ratio", options_.crop_ratio);
  train_transforms_ = make_train_transforms();
  eval_transforms_ = make_eval_transforms();
}

int64_t ImageFolderData::resize_size() const { return options_.resize_size.value_or(options_.image_size * 8 / 7); }

Transforms ImageFolderData::make_eval_transforms() const {
  const ImageSize size = {options_.image_size, options_.image_size};
  return {std::make_shared<Resize>(resize_size()), std::make_shared<CenterCrop>(size),
          make_pixel_transform(options_.pixels, num_channels())};
}

Transforms ImageFolderData::make_train_transforms() const {
  const ImageSize size = {options_.image_size, options_.image_size};
  Transforms transforms;
  if (options_.train_crop == "random_resized") {
    transforms.push_back(
        std::make_shared<RandomResizedCrop>(size, RandomResizedCropOptions{.min_scale = options_.crop_scale[0],
                                                                           .max_scale = options_.crop_scale[1],
                                                                           .min_ratio = options_.crop_ratio[0],
                                                                           .max_ratio = options_.crop_ratio[1]}));
  } else {
    transforms.push_back(std::make_shared<Resize>(resize_size()));
    if (options_.train_crop == "random") {
      if (resize_size() + 2 * options_.crop_padding < options_.image_size) {
        throw ConfigError(
            fmt::format("[ImageFolderData] a random crop of image_size {} needs resize_size and twice crop_padding to "
                        "be at least that, got {} and {}.",
                        options_.image_size, resize_size(), options_.crop_padding));
      }
      transforms.push_back(std::make_shared<RandomCrop>(size, options_.crop_padding));
    } else {
      transforms.push_back(std::make_shared<CenterCrop>(size));
    }
  }
  if (options_.random_flip > 0.0) transforms.push_back(std::make_shared<RandomHorizontalFlip>(options_.random_flip));
  transforms.push_back(make_pixel_transform(options_.pixels, num_channels()));
  return transforms;
}

ImageFolderOptions ImageFolderData::folder_options(bool has_classes) {
  ImageFolderOptions options;
  options.decode = {.channels = num_channels(),
                    .max_pixels = options_.max_pixels,
                    .min_side = options_.jpeg_scaling ? 2 * resize_size() : 0};
  options.has_classes = has_classes;
  if (!has_classes) return options;
  if (!options_.classes.empty()) {
    options.classes = options_.classes;
  } else if (options_.train_dir) {
    options.classes = list_classes(*options_.train_dir);
  }
  return options;
}

const std::optional<std::string>& ImageFolderData::dir(Split split) const {
  return pick(split, options_.train_dir, options_.val_dir, options_.test_dir, options_.predict_dir);
}

std::shared_ptr<const Dataset> ImageFolderData::open(Split split) {
  if (!dir(split)) return nullptr;
  const bool has_classes = split != Split::kPredict;
  auto folder = std::make_shared<ImageFolder>(*dir(split), folder_options(has_classes));
  if (has_classes) classes_ = folder->classes();
  return std::make_shared<TransformedDataset>(std::move(folder),
                                              split == Split::kTrain ? train_transforms_ : eval_transforms_,
                                              TransformedDatasetOptions{.has_different_sizes = true});
}

}  // namespace levin
