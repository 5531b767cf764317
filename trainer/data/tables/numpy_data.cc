#include "trainer/data/tables/numpy_data.h"

#include <algorithm>

#include "trainer/data/tables/numpy_dataset.h"

namespace levin {

void NumpyData::Options::visit(OptionVisitor& visitor) {
  visitor.field("train", train, ".npy files of the training data, as [inputs.npy, targets.npy]");
  visitor.field("val", val, "those of the validation data");
  visitor.field("test", test, "those of the test data");
  visitor.field("predict", predict, "those of the data to predict");
  visitor.field("names", names, "of the files, as fields of a batch; []: a batch is a list");
  loading.visit(visitor);
}

std::vector<std::string> NumpyData::files(Split split) const {
  return pick(split, options_.train, options_.val, options_.test, options_.predict);
}

std::shared_ptr<const Dataset> NumpyData::read(Split split) {
  const std::vector<std::string> paths = files(split);
  std::vector<std::string> names = options_.names;
  names.resize(std::min(names.size(), paths.size()));  // inputs without targets, as for a prediction
  return std::make_shared<NumpyDataset>(std::vector<std::filesystem::path>(paths.begin(), paths.end()), names);
}

}  // namespace levin
