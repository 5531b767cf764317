#include "trainer/data/tables/table_data.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/dataset_loader.h"
#include "trainer/data/subset_dataset.h"
#include "trainer/data/tables/random_split.h"

namespace levin {
namespace {

constexpr std::array<const char*, 4> kOptionNames = {"train", "val", "test", "predict"};  // of each Part

}  // namespace

void TableOptions::visit(OptionVisitor& visitor) {
  visitor.field("batch_size", batch_size, "samples of a training batch, on each rank", at_least(1));
  visitor.field("eval_batch_size", eval_batch_size, "samples of a batch elsewhere", at_least(1));
  visitor.field("drop_last", drop_last, "leave out a last training batch that is not full");
  visitor.field("val_fraction", val_fraction, "part of train that is for validation instead", between(0, 1));
  visitor.field("test_fraction", test_fraction, "part of train that is for the test instead", between(0, 1));
  visitor.field("split_seed", split_seed, "decides which samples these are");
  visit_worker_options(workers, visitor);
}

void TableData::check_split() const {
  const auto check = [&](Part part, double fraction) {
    const char* name = kOptionNames[static_cast<size_t>(part)];
    if (fraction > 0.0 && !files(part).empty()) {
      throw ConfigError(
          fmt::format("[{}] {} has files of its own, so {}_fraction must be 0, got {}.", name_, name, name, fraction));
    }
    if (fraction > 0.0 && files(Part::kTrain).empty()) {
      throw ConfigError(fmt::format("[{}] {}_fraction is a part of train, which is not given.", name_, name));
    }
  };
  check(Part::kVal, options_.val_fraction);
  check(Part::kTest, options_.test_fraction);
}

void TableData::check_files_exist(Part part) const {
  for (const std::string& file : files(part)) {
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) continue;
    throw DataError(fmt::format("[{}] there is no file {}, which data.{} names. Paths are taken from {}.", name_, file,
                                kOptionNames[static_cast<size_t>(part)], std::filesystem::current_path().string()));
  }
}

void TableData::setup(Stage stage) {
  check_split();
  switch (stage) {
    case Stage::kTrain:
      require(Part::kTrain);
      require(Part::kVal);
      break;
    case Stage::kValidate: require(Part::kVal); break;
    case Stage::kTest: require(Part::kTest); break;
    case Stage::kPredict: require(Part::kPredict); break;
  }
}

std::shared_ptr<const Dataset> TableData::require(Part part) {
  if (dataset(part)) return dataset(part);
  const bool is_split = options_.val_fraction > 0.0 || options_.test_fraction > 0.0;
  const bool is_part_of_train = part == Part::kTrain || (part == Part::kVal && options_.val_fraction > 0.0) ||
                                (part == Part::kTest && options_.test_fraction > 0.0);
  if (is_split && is_part_of_train && !files(Part::kTrain).empty()) {
    split_training_data();
  } else if (!files(part).empty()) {
    check_files_exist(part);
    dataset(part) = open(part);
  }
  return dataset(part);
}

void TableData::split_training_data() {
  check_files_exist(Part::kTrain);
  const std::shared_ptr<const Dataset> whole = open(Part::kTrain);
  RandomSplit split = random_split(whole->size(), options_.val_fraction, options_.test_fraction, options_.split_seed);
  dataset(Part::kTrain) = std::make_shared<SubsetDataset>(whole, std::move(split.train));
  if (!split.val.empty()) dataset(Part::kVal) = std::make_shared<SubsetDataset>(whole, std::move(split.val));
  if (!split.test.empty()) dataset(Part::kTest) = std::make_shared<SubsetDataset>(whole, std::move(split.test));
}

std::unique_ptr<DataLoader> TableData::make_loader(Part part) {
  if (!dataset(part)) return nullptr;
  const bool is_training = part == Part::kTrain;
  LoaderOptions loader = options_.workers;
  loader.batch_size = is_training ? options_.batch_size : options_.eval_batch_size;
  loader.shuffle = is_training;
  loader.drop_last = is_training && options_.drop_last;
  return std::make_unique<DatasetLoader>(dataset(part), std::move(loader));
}

std::unique_ptr<DataLoader> TableData::train_dataloader() { return make_loader(Part::kTrain); }
std::unique_ptr<DataLoader> TableData::val_dataloader() { return make_loader(Part::kVal); }
std::unique_ptr<DataLoader> TableData::test_dataloader() { return make_loader(Part::kTest); }
std::unique_ptr<DataLoader> TableData::predict_dataloader() { return make_loader(Part::kPredict); }

bool TableData::set_batch_size(int64_t batch_size) {
  options_.batch_size = batch_size;
  return true;
}

}  // namespace levin
