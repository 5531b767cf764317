#pragma once

#include <string>
#include <vector>

#include "trainer/data/tables/table_data.h"

namespace levin {

/// Data from .npy files, `NumpyData` in YAML: for each split a list of files, for example inputs and targets.
class NumpyData final : public TableData {
 public:
  struct Options {
    std::vector<std::string> train = {};
    std::vector<std::string> val = {};
    std::vector<std::string> test = {};
    std::vector<std::string> predict = {};
    /// Of the files, as fields of a batch; a split with fewer files has the first of them. Empty: a batch is a list.
    std::vector<std::string> names = {};
    TableOptions loading = {};
    void visit(OptionVisitor& visitor);
  };

  explicit NumpyData(Options options) : TableData("NumpyData", options.loading), options_(std::move(options)) {}

 private:
  std::vector<std::string> files(Split split) const override;
  std::shared_ptr<const Dataset> read(Split split) override;

  Options options_;
};

}  // namespace levin
