#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/tables/csv_dataset.h"
#include "trainer/data/tables/table_data.h"

namespace levin {

/// Data from CSV files, `CsvData` in YAML: one for each split. The training file decides which columns are features and
/// what numbers categories have, also for a test; so it is read there too, unless features are named and there are no
/// categories. The file for predictions may lack the targets.
class CsvData final : public TableData {
 public:
  struct Options {
    std::optional<std::string> train = std::nullopt;
    std::optional<std::string> val = std::nullopt;
    std::optional<std::string> test = std::nullopt;
    std::optional<std::string> predict = std::nullopt;
    CsvOptions csv = {};
    TableOptions loading = {};
    void visit(OptionVisitor& visitor);
  };

  explicit CsvData(Options options) : TableData("CsvData", options.loading), options_(std::move(options)) {}

 private:
  std::vector<std::string> files(Split split) const override;
  std::shared_ptr<const Dataset> read(Split split) override;

  Options options_;
  /// Those of the training file; nullopt until it is read.
  std::optional<std::vector<std::string>> features_;
  std::map<std::string, std::vector<std::string>> vocabularies_;
};

}  // namespace levin
