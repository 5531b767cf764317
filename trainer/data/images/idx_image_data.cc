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
    : options_(std::move(options)), to_numbers_(make_pixel_transform(options_.pixels, 1)) {}

void IdxImageData::setup(Stage stage) {
  if (stage == Stage::kTrain) {
    if (!train_) train_ = augmented(open("train", options_.train_images, options_.train_labels));
  }
  if (stage == Stage::kTrain || stage == Stage::kValidate) {
    if (!val_) val_ = plain(open("val", options_.val_images, options_.val_labels));
  } else if (stage == Stage::kTest) {
    if (!test_) test_ = plain(open("test", options_.test_images, options_.test_labels));
  } else if (!predict_) {
    const bool has_labels = options_.predict_labels || !options_.predict_images;
    predict_ = plain(has_labels ? open("predict", options_.predict_images, options_.predict_labels)
                                : open_unlabelled(*options_.predict_images));
  }
}

std::shared_ptr<const Dataset> IdxImageData::open(const std::string& split, const std::optional<std::string>& images,
                                                  const std::optional<std::string>& labels) const {
  if (!images && !labels) return nullptr;
  if (!images || !labels) {
    throw ConfigError(fmt::format("[IdxImageData] {0}_images and {0}_labels must be set together, but {0}_{1} is not.",
                                  split, images ? "labels" : "images"));
  }
  return std::make_shared<IdxImageDataset>(*images, *labels, options_.num_classes);
}

std::shared_ptr<const Dataset> IdxImageData::open_unlabelled(const std::string& images) const {
  const at::Tensor pixels = read_idx_images(images);
  return std::make_shared<TensorDataset>(Batch::of(pixels, at::full({pixels.size(0)}, -1, at::kLong)));
}

std::shared_ptr<const Dataset> IdxImageData::augmented(std::shared_ptr<const Dataset> dataset) const {
  if (!dataset) return nullptr;
  Transforms transforms;
  if (options_.crop_padding > 0) {
    const std::vector<int64_t> first = {0};
    const at::Tensor images = dataset->get_batch(first, {})[0].tensor();
    transforms.push_back(
        std::make_shared<RandomCrop>(ImageSize{images.size(2), images.size(3)}, options_.crop_padding));
  }
  if (options_.random_flip > 0.0) transforms.push_back(std::make_shared<RandomHorizontalFlip>(options_.random_flip));
  transforms.push_back(to_numbers_);
  return std::make_shared<TransformedDataset>(std::move(dataset), std::move(transforms));
}

std::shared_ptr<const Dataset> IdxImageData::plain(std::shared_ptr<const Dataset> dataset) const {
  if (!dataset) return nullptr;
  return std::make_shared<TransformedDataset>(std::move(dataset), Transforms{to_numbers_});
}

std::unique_ptr<DataLoader> IdxImageData::train_dataloader() {
  return make_split_loader(train_, options_.workers, options_.batch_size, /*shuffle=*/true);
}
std::unique_ptr<DataLoader> IdxImageData::val_dataloader() {
  return make_split_loader(val_, options_.workers, options_.eval_batch_size, /*shuffle=*/false);
}
std::unique_ptr<DataLoader> IdxImageData::test_dataloader() {
  return make_split_loader(test_, options_.workers, options_.eval_batch_size, /*shuffle=*/false);
}
std::unique_ptr<DataLoader> IdxImageData::predict_dataloader() {
  return make_split_loader(predict_, options_.workers, options_.eval_batch_size, /*shuffle=*/false);
}

bool IdxImageData::set_batch_size(int64_t batch_size) {
  options_.batch_size = batch_size;
  return true;
}

}  // namespace levin
