#include "trainer/transfer.h"

#include "trainer/core/lightning_data_module.h"
#include "trainer/core/profiler.h"

namespace levin {

Batch transfer_batch(const Run& run, LightningModule& module, Batch batch, Stage stage) {
  const ProfileScope scope(run.profiler, Section::kTransfer);
  if (run.data != nullptr) batch = run.data->on_before_batch_transfer(std::move(batch), stage);
  batch = module.on_before_batch_transfer(std::move(batch), stage);
  batch = run.parts.precision->convert_input(std::move(batch).to(run.parts.strategy->device()));
  if (run.data != nullptr) batch = run.data->on_after_batch_transfer(std::move(batch), stage);
  return module.on_after_batch_transfer(std::move(batch), stage);
}

}  // namespace levin
