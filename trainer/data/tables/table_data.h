#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/core/lightning_data_module.h"
#include "trainer/core/option_visitor.h"
#include "trainer/data/dataset.h"
#include "trainer/data/loader_options.h"

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

/// Base of the data modules whose parts are files: opens those that a stage needs, splits the training data at random
/// where that is asked for, and makes the loaders. Training is shuffled. A part without files has no loader.
class TableData : public LightningDataModule {
 public:
  /// Errors: ConfigError if the options do not fit together; DataError if a file is missing or cannot be read.
  void setup(Stage stage) override;
  std::unique_ptr<DataLoader> train_dataloader() override;
  std::unique_ptr<DataLoader> val_dataloader() override;
  std::unique_ptr<DataLoader> test_dataloader() override;
  std::unique_ptr<DataLoader> predict_dataloader() override;
  bool set_batch_size(int64_t batch_size) override;

 protected:
  enum class Part { kTrain, kVal, kTest, kPredict };

  /// name: of the class, for error texts.
  TableData(std::string name, TableOptions options) : name_(std::move(name)), options_(std::move(options)) {}

  /// The files of a part; empty if it has none.
  virtual std::vector<std::string> files(Part part) const = 0;
  /// Opens a part that has files.
  virtual std::shared_ptr<const Dataset> open(Part part) = 0;
  /// Opens a part, unless that is done; nullptr if there are no such data.
  std::shared_ptr<const Dataset> require(Part part);

 private:
  std::shared_ptr<const Dataset>& dataset(Part part) { return datasets_[static_cast<size_t>(part)]; }
  void check_split() const;
  void check_files_exist(Part part) const;
  void split_training_data();
  std::unique_ptr<DataLoader> make_loader(Part part);

  std::string name_;
  TableOptions options_;
  std::array<std::shared_ptr<const Dataset>, 4> datasets_;  // of each Part
};

}  // namespace levin
