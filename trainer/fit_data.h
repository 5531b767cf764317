#pragma once

#include <functional>
#include <memory>

#include "trainer/core/data_loader.h"
#include "trainer/core/lightning_data_module.h"

namespace levin {

/// The loaders of a fit: the user's own, or those of a data module, which can be asked for new ones.
class FitData {
 public:
  /// val_loader: nullptr for no validation.
  FitData(DataLoader& train_loader, DataLoader* val_loader) : train_(&train_loader), val_(val_loader) {}
  /// attach: called on every new loader, with what it is for. Errors: ConfigError if there is no training loader.
  FitData(LightningDataModule& data, std::function<void(DataLoader&, Stage)> attach);
  /// Stops the loaders.
  ~FitData();
  FitData(const FitData&) = delete;
  FitData& operator=(const FitData&) = delete;

  DataLoader& train() { return *train_; }
  DataLoader* val() { return val_; }
  /// Asks the data module for new loaders. Without one, nothing.
  void reload();

 private:
  LightningDataModule* data_ = nullptr;
  std::function<void(DataLoader&, Stage)> attach_;
  std::unique_ptr<DataLoader> own_train_;
  std::unique_ptr<DataLoader> own_val_;
  DataLoader* train_ = nullptr;
  DataLoader* val_ = nullptr;
};

}  // namespace levin
