#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/data/tables/table_data.h"

namespace levin {

/// Data from safetensors files, `SafetensorsData` in YAML: one for each split, with tensors [N, ...].
class SafetensorsData final : public TableData {
 public:
  struct Options {
    std::optional<std::string> train = std::nullopt;
    std::optional<std::string> val = std::nullopt;
    std::optional<std::string> test = std::nullopt;
    std::optional<std::string> predict = std::nullopt;
    /// Those that a batch has; empty: all.
    std::vector<std::string> tensors = {};
    TableOptions loading = {};
    void visit(OptionVisitor& visitor);
  };

  explicit SafetensorsData(Options options)
      : TableData("SafetensorsData", options.loading), options_(std::move(options)) {}

 private:
  std::vector<std::string> files(Split split) const override;
  std::shared_ptr<const Dataset> read(Split split) override;

  Options options_;
};

}  // namespace levin
