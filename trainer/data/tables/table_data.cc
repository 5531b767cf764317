#include "trainer/data/tables/table_data.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/subset_dataset.h"

namespace levin {
namespace {

LoaderOptions training_loader(const TableOptions& options) {
  LoaderOptions loader = with_batch_size(options.workers, options.batch_size);
  loader.drop_last = options.drop_last;
  return loader;
}

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

TableData::TableData(std::string name, TableOptions options)
    : SplitData(training_loader(options), options.eval_batch_size),
      name_(std::move(name)),
      options_(std::move(options)) {}

void TableData::check_fractions() const {
  const auto check = [&](Split split, double fraction) {
    const char* name = name_of(split);
    if (fraction > 0.0 && !files(split).empty()) {
      throw ConfigError(
          fmt::format("[{}] {} has files of its own, so {}_fraction must be 0, got {}.", name_, name, name, fraction));
    }
    if (fraction > 0.0 && files(Split::kTrain).empty()) {
      throw ConfigError(fmt::format("[{}] {}_fraction is a part of train, which is not given.", name_, name));
    }
  };
  check(Split::kVal, options_.val_fraction);
  check(Split::kTest, options_.test_fraction);
}

void TableData::check_files_exist(Split split) const {
  for (const std::string& file : files(split)) {
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) continue;
    throw DataError(fmt::format("[{}] there is no file {}, which data.{} names. Paths are taken from {}.", name_, file,
                                name_of(split), std::filesystem::current_path().string()));
  }
}

void TableData::setup(Stage stage) {
  check_fractions();
  SplitData::setup(stage);
}

std::shared_ptr<const Dataset> TableData::open(Split split) {
  if (is_divided() && is_part_of_training(split)) return part_of_training(split);
  if (files(split).empty()) return nullptr;
  check_files_exist(split);
  return read(split);
}

bool TableData::is_part_of_training(Split split) const {
  if (files(Split::kTrain).empty()) return false;
  return split == Split::kTrain || (split == Split::kVal && options_.val_fraction > 0.0) ||
         (split == Split::kTest && options_.test_fraction > 0.0);
}

std::shared_ptr<const Dataset> TableData::part_of_training(Split split) {
  if (!whole_) {
    check_files_exist(Split::kTrain);
    whole_ = read(Split::kTrain);
    parts_ = random_split(whole_->size(), options_.val_fraction, options_.test_fraction, options_.split_seed);
  }
  std::vector<int64_t>& part = split == Split::kTrain ? parts_.train : split == Split::kVal ? parts_.val : parts_.test;
  return std::make_shared<SubsetDataset>(whole_, std::move(part));  // opened once
}

}  // namespace levin
