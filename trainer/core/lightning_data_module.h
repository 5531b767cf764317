#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "trainer/core/data_loader.h"
#include "trainer/core/trainer_state.h"

namespace levin {

/// Where a run's data comes from. Every method is optional but the loaders that the run's stage needs.
class LightningDataModule {
 public:
  virtual ~LightningDataModule() = default;

  /// Downloads or converts, once on each host, before setup().
  virtual void prepare_data() {}
  /// Opens the data for a stage, on every rank. Errors here end the run before a run folder is made.
  virtual void setup(Stage /*stage*/) {}

  /// The loaders. nullptr (the default) means that there is no such data: training and testing then fail with a
  /// ConfigError, a fit without validation data does not validate.
  virtual std::unique_ptr<DataLoader> train_dataloader() { return nullptr; }
  virtual std::unique_ptr<DataLoader> val_dataloader() { return nullptr; }
  virtual std::unique_ptr<DataLoader> test_dataloader() { return nullptr; }
  virtual std::unique_ptr<DataLoader> predict_dataloader() { return nullptr; }

  /// Asked by the batch-size finder: the training loaders made from now on have so many samples in a batch. True if the
  /// module does that. Also called with the size that was found, and again when the run is resumed.
  virtual bool set_batch_size(int64_t /*batch_size*/) { return false; }

  /// Around the copy of a batch to the device, before the module's hooks of the same name.
  virtual Batch on_before_batch_transfer(Batch batch, Stage /*stage*/) { return batch; }
  virtual Batch on_after_batch_transfer(Batch batch, Stage /*stage*/) { return batch; }

  /// What a checkpoint keeps of the data module, beside the position of the training loader.
  virtual StateDict state() const { return {}; }
  virtual void load_state(const StateDict& /*state*/) {}

  /// What ended the run; teardown() follows. Does not throw.
  virtual void on_exception(const std::exception& /*error*/) noexcept {}
  /// Called at the end of the stage, also after an error.
  virtual void teardown(Stage /*stage*/) {}
};

}  // namespace levin
