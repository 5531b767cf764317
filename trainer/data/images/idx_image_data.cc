#include "trainer/data/images/idx_image_data.h"

#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "trainer/core/error.h"
#include "trainer/data/idx_image_dataset.h"
#include "trainer/data/transforms/crop.h"
#include "trainer/data/transforms/flip.h"
#include "trainer/data/transforms/transformed_dataset.h"

namespace levin {

void IdxImageData::Options::visit(OptionVisitor& visitor) {
  visitor.field("train_images", train_images, "IDX file of the training images, .gz or not; null: no training");
  visitor.field("train_labels", train_labels, "IDX file of their labels");
  visitor.field("val_images", val_images, "the same for validation");
  visitor.field("val_labels", val_labels, "");
  visitor.field("test_images", test_images, "the same for testing");
  visitor.field("test_labels", test_labels, "");
  visitor.field("predict_images", predict_images, "the same for prediction");
  visitor.field("predict_labels", predict_labels, "null: every label is -1");
  visitor.field("num_classes", num_classes, "labels are below it", at_least(1));
  pixels.visit(visitor);
  visitor.field("crop_padding", crop_padding, "training: pad so far and crop back at random; 0: off", at_least(0));
  visitor.field("random_flip", random_flip, "training: probability that an image is mirrored", between(0, 1));
  visitor.field("batch_size", batch_size, "images of a training batch, on each rank", at_least(1));
  visitor.field("eval_batch_size", eval_batch_size, "images of a batch elsewhere", at_least(1));
  visit_worker_options(workers, visitor);
}

IdxImageData::IdxImageData(Options options)
    : SplitData(with_batch_size(options.workers, options.batch_size), options.eval_batch_size),
      options_(std::move(options)),
      to_numbers_(make_pixel_transform(options_.pixels, 1)) {}

IdxImageData::Files IdxImageData::files(Split split) const {
  return {pick(split, options_.train_images, options_.val_images, options_.test_images, options_.predict_images),
          pick(split, options_.train_labels, options_.val_labels, options_.test_labels, options_.predict_labels)};
}

std::shared_ptr<const Dataset> IdxImageData::open(Split split) {
  std::shared_ptr<const Dataset> dataset = read(split);
  if (!dataset) return nullptr;
  Transforms transforms = make_transforms(split, *dataset);
  return std::make_shared<TransformedDataset>(std::move(dataset), std::move(transforms));
}

std::shared_ptr<const Dataset> IdxImageData::read(Split split) const {
  const auto [images, labels] = files(split);
  if (!images && !labels) return nullptr;
  if (split == Split::kPredict && !labels) {
    const at::Tensor pixels = read_idx_images(*images);
    return std::make_shared<TensorDataset>(Batch::of(pixels, at::full({pixels.size(0)}, -1, at::kLong)));
  }
  if (!images || !labels) {
    throw ConfigError(fmt::format("[IdxImageData] {0}_images and {0}_labels must be set together, but {0}_{1} is not.",
                                  name_of(split), images ? "labels" : "images"));
  }
  return std::make_shared<IdxImageDataset>(*images, *labels, options_.num_classes);
}

Transforms IdxImageData::make_transforms(Split split, const Dataset& dataset) const {
  if (split != Split::kTrain) return {to_numbers_};
  Transforms transforms;
  if (options_.crop_padding > 0) {
    const std::vector<int64_t> first = {0};
    const at::Tensor images = dataset.get_batch(first, {})[0].tensor();
    transforms.push_back(
        std::make_shared<RandomCrop>(ImageSize{images.size(2), images.size(3)}, options_.crop_padding));
  }
  if (options_.random_flip > 0.0) transforms.push_back(std::make_shared<RandomHorizontalFlip>(options_.random_flip));
  transforms.push_back(to_numbers_);
  return transforms;
}

}  // namespace levin
