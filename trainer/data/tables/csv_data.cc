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

std::vector<std::string> CsvData::files(Part part) const {
  const auto listed = [](const std::optional<std::string>& file) {
    return file ? std::vector{*file} : std::vector<std::string>();
  };
  switch (part) {
    case Part::kTrain: return listed(options_.train);
    case Part::kVal: return listed(options_.val);
    case Part::kTest: return listed(options_.test);
    case Part::kPredict: return listed(options_.predict);
  }
  return {};
}

std::shared_ptr<const Dataset> CsvData::open(Part part) {
  CsvOptions csv = options_.csv;
  if (part != Part::kTrain && options_.train && (csv.features.empty() || !csv.categories.empty())) {
    require(Part::kTrain);
    csv.features = *features_;
    csv.vocabularies = vocabularies_;
  }
  csv.may_lack_targets = part == Part::kPredict;
  auto dataset = std::make_shared<CsvDataset>(files(part).front(), csv);
  if (part == Part::kTrain) {
    features_ = dataset->feature_names();
    vocabularies_ = dataset->vocabularies();
  }
  return dataset;
}

}  // namespace levin
