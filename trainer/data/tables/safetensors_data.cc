#include "trainer/data/tables/safetensors_data.h"

#include "trainer/data/tables/safetensors_dataset.h"

namespace levin {

void SafetensorsData::Options::visit(OptionVisitor& visitor) {
  visitor.field("train", train, "safetensors file of the training data");
  visitor.field("val", val, "that of the validation data");
  visitor.field("test", test, "that of the test data");
  visitor.field("predict", predict, "that of the data to predict");
  visitor.field("tensors", tensors, "names of those that a batch has; []: all");
  loading.visit(visitor);
}

std::vector<std::string> SafetensorsData::files(Split split) const {
  const auto& file = pick(split, options_.train, options_.val, options_.test, options_.predict);
  return file ? std::vector{*file} : std::vector<std::string>();
}

std::shared_ptr<const Dataset> SafetensorsData::read(Split split) {
  return std::make_shared<SafetensorsDataset>(files(split).front(), options_.tensors);
}

}  // namespace levin
