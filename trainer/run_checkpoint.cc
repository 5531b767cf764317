#include "trainer/run_checkpoint.h"

#include <fmt/format.h>

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/core/error.h"

namespace levin {

void save_run_checkpoint(const std::filesystem::path& path, Run& run, LightningModule& module) {
  Checkpoint checkpoint;
  checkpoint.model = run.parts.strategy->model_state(module);
  checkpoint.run.set("epoch", run.state.epoch);
  checkpoint.run.set("global_step", run.state.global_step);
  checkpoint.run.set("num_samples", run.state.num_samples);
  checkpoint.run.set("seed", static_cast<int64_t>(run.seed));
  for (const auto& [name, value] : run.metrics) checkpoint.run.set("metrics." + name, value);
  if (run.parts.strategy->communicator().rank() == 0) save_checkpoint(path, checkpoint);
  run.parts.strategy->communicator().barrier();
}

void load_weights(const std::filesystem::path& path, Strategy& strategy, LightningModule& module) {
  const Checkpoint checkpoint = load_checkpoint(path);
  try {
    strategy.load_model_state(module, checkpoint.model);
  } catch (const CheckpointError& error) {
    throw CheckpointError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace levin
