#include "trainer/fit_data.h"

#include "trainer/core/error.h"

namespace levin {

FitData::FitData(LightningDataModule& data, std::function<void(DataLoader&, Stage)> attach)
    : data_(&data), attach_(std::move(attach)) {
  reload();
}

FitData::~FitData() {
  if (train_ != nullptr) train_->stop();
  if (val_ != nullptr) val_->stop();
}

void FitData::reload() {
  if (data_ == nullptr) return;
  train_ = nullptr;
  val_ = nullptr;
  own_train_ = data_->train_dataloader();
  own_val_ = data_->val_dataloader();
  if (!own_train_) {
    throw ConfigError("[Trainer] train needs data: LightningDataModule::train_dataloader() returned no loader.");
  }
  attach_(*own_train_, Stage::kTrain);
  if (own_val_) attach_(*own_val_, Stage::kValidate);
  train_ = own_train_.get();
  val_ = own_val_.get();
}

}  // namespace levin
