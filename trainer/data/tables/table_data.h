#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/core/option_visitor.h"
#include "trainer/data/split_data.h"
#include "trainer/data/tables/random_split.h"

namespace levin {

/// What the data modules for tables have in common.
struct TableOptions {
  int64_t batch_size = 32;
  int64_t eval_batch_size = 256;
  /// Leave out a last training batch that is not full.
  bool drop_last = false;
  /// Parts of the training data that are for validation and test instead, where these have no files of their own.
  double val_fraction = 0.0;
  double test_fraction = 0.0;
  /// Which samples these are; not the run's seed, so that runs with different seeds have the same.
  uint64_t split_seed = 0;
  /// Its worker options only.
  LoaderOptions workers = {};

  void visit(OptionVisitor& visitor);
};

/// Base of the data modules whose splits are files; the training data are divided at random where that is asked for.
class TableData : public SplitData {
 public:
  /// Errors: ConfigError if the options do not fit together; DataError if a file is missing or cannot be read.
  void setup(Stage stage) override;

 protected:
  /// name: of the class, for error texts.
  TableData(std::string name, TableOptions options);

  /// The files of a split; empty if it has none.
  virtual std::vector<std::string> files(Split split) const = 0;
  /// Reads a split that has files.
  virtual std::shared_ptr<const Dataset> read(Split split) = 0;

 private:
  std::shared_ptr<const Dataset> open(Split split) final;
  bool is_divided() const { return options_.val_fraction > 0.0 || options_.test_fraction > 0.0; }
  bool is_part_of_training(Split split) const;
  std::shared_ptr<const Dataset> part_of_training(Split split);
  void check_fractions() const;
  void check_files_exist(Split split) const;

  std::string name_;
  TableOptions options_;
  std::shared_ptr<const Dataset> whole_;  // the training data before their division
  RandomSplit parts_;                     // of whole_
};

}  // namespace levin
