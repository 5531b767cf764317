#include "trainer/data/tables/csv_data.h"

namespace levin {

void CsvData::Options::visit(OptionVisitor& visitor) {
  visitor.field("train", train, "CSV file of the training data (.gz or not)");
  visitor.field("val", val, "that of the validation data");
  visitor.field("test", test, "that of the test data");
  visitor.field("predict", predict, "that of the data to predict; it may lack the targets");
  csv.visit(visitor);
  loading.visit(visitor);
}

std::vector<std::string> CsvData::files(Split split) const {
  const auto& file = pick(split, options_.train, options_.val, options_.test, options_.predict);
  return file ? std::vector{*file} : std::vector<std::string>();
}

std::shared_ptr<const Dataset> CsvData::read(Split split) {
  CsvOptions csv = options_.csv;
  if (split != Split::kTrain && options_.train && (csv.features.empty() || !csv.categories.empty())) {
    require(Split::kTrain);
    csv.features = *features_;
    csv.vocabularies = vocabularies_;
  }
  csv.may_lack_targets = split == Split::kPredict;
  auto dataset = std::make_shared<CsvDataset>(files(split).front(), csv);
  if (split == Split::kTrain) {
    features_ = dataset->feature_names();
    vocabularies_ = dataset->vocabularies();
  }
  return dataset;
}

}  // namespace levin
