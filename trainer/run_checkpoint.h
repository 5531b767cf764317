#pragma once

#include <filesystem>

#include "trainer/core/lightning_module.h"
#include "trainer/run.h"

namespace levin {

/// Writes the state of a run between two optimizer steps as a checkpoint folder (collective; rank 0 writes).
/// Errors: CheckpointError.
void save_run_checkpoint(const std::filesystem::path& path, Run& run, LightningModule& module);

/// Loads the weights of a checkpoint folder into the module (collective).
/// Errors: CheckpointError; the module is then unchanged.
void load_weights(const std::filesystem::path& path, Strategy& strategy, LightningModule& module);

}  // namespace levin
