#pragma once

#include "trainer/core/batch.h"
#include "trainer/core/lightning_module.h"
#include "trainer/run.h"

namespace levin {

/// Brings a batch of the loader to the device of the model, in its dtype, with the hooks of the data module and the
/// module around the copy.
Batch transfer_batch(const Run& run, LightningModule& module, Batch batch, Stage stage);

}  // namespace levin
