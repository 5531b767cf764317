#include "examples/fashion_mnist/fashion_mnist_data.h"

#include <filesystem>

#include "trainer/core/error.h"
#include "trainer/data/dataset_loader.h"
#include "trainer/data/idx_image_dataset.h"

namespace {

constexpr int64_t kNumClasses = 10;
// Of the training pixels, scaled to [0, 1].
constexpr double kMean = 0.2860;
constexpr double kStd = 0.3530;

}  // namespace

void FashionMnistData::Options::visit(levin::OptionVisitor& visitor) {
  visitor.field("dir", dir, "folder with the four .gz files of Fashion-MNIST");
  visitor.field("batch_size", batch_size, "images of a training batch", levin::at_least(1));
  visitor.field("eval_batch_size", eval_batch_size, "images of a batch elsewhere", levin::at_least(1));
  levin::visit_worker_options(loader, visitor);
}

std::shared_ptr<const levin::Dataset> FashionMnistData::open(const std::string& split) const {
  const std::filesystem::path dir = options_.dir;
  if (!std::filesystem::is_directory(dir)) {
    throw levin::DataError(
        "[FashionMnistData] there is no folder " + dir.string() +
        ". Install Debian's dataset-fashion-mnist, or set data.dir to the folder with the four files.");
  }
  return std::make_shared<levin::IdxImageDataset>(dir / (split + "-images-idx3-ubyte.gz"),
                                                  dir / (split + "-labels-idx1-ubyte.gz"), kNumClasses, kMean, kStd);
}

void FashionMnistData::setup(levin::Stage stage) {
  if (stage == levin::Stage::kTrain && !train_) train_ = open("train");
  if (!test_) test_ = open("t10k");
}

std::unique_ptr<levin::DataLoader> FashionMnistData::loader(std::shared_ptr<const levin::Dataset> images,
                                                            int64_t batch_size, bool shuffle) const {
  levin::LoaderOptions options = options_.loader;
  options.batch_size = batch_size;
  options.shuffle = shuffle;
  return std::make_unique<levin::DatasetLoader>(std::move(images), options);
}

std::unique_ptr<levin::DataLoader> FashionMnistData::train_dataloader() {
  return loader(train_, options_.batch_size, true);
}

std::unique_ptr<levin::DataLoader> FashionMnistData::val_dataloader() { return test_dataloader(); }

std::unique_ptr<levin::DataLoader> FashionMnistData::test_dataloader() {
  return loader(test_, options_.eval_batch_size, false);
}

std::unique_ptr<levin::DataLoader> FashionMnistData::predict_dataloader() { return test_dataloader(); }

bool FashionMnistData::set_batch_size(int64_t batch_size) {
  options_.batch_size = batch_size;
  return true;
}
