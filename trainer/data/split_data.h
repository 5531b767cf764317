#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "trainer/core/lightning_data_module.h"
#include "trainer/data/dataset.h"
#include "trainer/data/loader_options.h"

namespace levin {

/// Base of the data modules with a dataset for each split: opens those that a stage needs, once, and makes their
/// loaders. Training is shuffled, all others come in order and whole. A split without data has no loader.
class SplitData : public LightningDataModule {
 public:
  /// Opens the datasets of the stage; for training also those of validation. Errors: as of the class's own opening.
  void setup(Stage stage) override;
  std::unique_ptr<DataLoader> train_dataloader() override;
  std::unique_ptr<DataLoader> val_dataloader() override { return eval_loader(Split::kVal); }
  std::unique_ptr<DataLoader> test_dataloader() override { return eval_loader(Split::kTest); }
  std::unique_ptr<DataLoader> predict_dataloader() override { return eval_loader(Split::kPredict); }
  bool set_batch_size(int64_t batch_size) override;

 protected:
  enum class Split { kTrain, kVal, kTest, kPredict };

  /// "train", "val", "test" or "predict", as options begin.
  static const char* name_of(Split split);

  /// What belongs to the split, of one for each.
  template <class T>
  static const T& pick(Split split, const T& train, const T& val, const T& test, const T& predict) {
    switch (split) {
      case Split::kTrain: return train;
      case Split::kVal: return val;
      case Split::kTest: return test;
      case Split::kPredict: break;
    }
    return predict;
  }

  /// training: how training batches are made. Others take its worker options, and eval_batch_size.
  SplitData(LoaderOptions training, int64_t eval_batch_size);

  /// Opens the data of a split; nullptr if there are none.
  virtual std::shared_ptr<const Dataset> open(Split split) = 0;
  /// Decides the order of the training data; nullptr: as given in the options, else shuffled. Called once these are
  /// open.
  virtual std::shared_ptr<const Sampler> train_sampler() { return nullptr; }
  /// Opens a split, unless that is done.
  std::shared_ptr<const Dataset> require(Split split);

 private:
  std::unique_ptr<DataLoader> eval_loader(Split split) const;
  const std::shared_ptr<const Dataset>& dataset(Split split) const { return datasets_[static_cast<size_t>(split)]; }

  LoaderOptions training_;
  int64_t eval_batch_size_;
  std::array<std::shared_ptr<const Dataset>, 4> datasets_;  // of each Split
};

/// `workers` with another batch size.
LoaderOptions with_batch_size(LoaderOptions workers, int64_t batch_size);

}  // namespace levin
