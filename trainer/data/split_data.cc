#include "trainer/data/split_data.h"

#include <utility>

#include "trainer/data/dataset_loader.h"

namespace levin {

SplitData::SplitData(LoaderOptions training, int64_t eval_batch_size)
    : training_(std::move(training)), eval_batch_size_(eval_batch_size) {}

const char* SplitData::name_of(Split split) {
  constexpr std::array<const char*, 4> names = {"train", "val", "test", "predict"};
  return names[static_cast<size_t>(split)];
}

void SplitData::setup(Stage stage) {
  switch (stage) {
    case Stage::kTrain:
      if (require(Split::kTrain)) {
        if (auto sampler = train_sampler()) training_.sampler = std::move(sampler);
      }
      require(Split::kVal);
      break;
    case Stage::kValidate: require(Split::kVal); break;
    case Stage::kTest: require(Split::kTest); break;
    case Stage::kPredict: require(Split::kPredict); break;
  }
}

std::shared_ptr<const Dataset> SplitData::require(Split split) {
  std::shared_ptr<const Dataset>& opened = datasets_[static_cast<size_t>(split)];
  if (!opened) opened = open(split);
  return opened;
}

std::unique_ptr<DataLoader> SplitData::train_dataloader() {
  if (!dataset(Split::kTrain)) return nullptr;
  LoaderOptions options = training_;
  options.shuffle = options.sampler == nullptr;
  return std::make_unique<DatasetLoader>(dataset(Split::kTrain), std::move(options));
}

std::unique_ptr<DataLoader> SplitData::eval_loader(Split split) const {
  if (!dataset(split)) return nullptr;
  LoaderOptions options = with_batch_size(training_, eval_batch_size_);
  options.sampler = nullptr;
  options.shuffle = false;
  options.drop_last = false;
  return std::make_unique<DatasetLoader>(dataset(split), std::move(options));
}

bool SplitData::set_batch_size(int64_t batch_size) {
  training_.batch_size = batch_size;
  return true;
}

LoaderOptions with_batch_size(LoaderOptions workers, int64_t batch_size) {
  workers.batch_size = batch_size;
  return workers;
}

}  // namespace levin
