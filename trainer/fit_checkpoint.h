#pragma once

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/core/lightning_module.h"
#include "trainer/run.h"

namespace levin {

/// Name of the checkpoint that a fit leaves when SIGINT or SIGTERM ends it.
inline constexpr char kInterruptedCheckpoint[] = "interrupted";

/// What every checkpoint of a run keeps, also one with weights only: position, seed, metrics, hyper-parameters, and
/// what the module adds in on_save_checkpoint.
StateDict common_state(const Run& run, LightningModule& module);
/// Puts position, seed and metrics back.
void load_common_state(Run& run, const StateDict& saved);

/// What a fit needs to go on, beside the loops' own: callbacks, data module, precision, loggers, random generators.
StateDict surrounding_state(const Run& run);

/// Errors: CheckpointError if a fit cannot go on from it, since it holds the weights only.
void check_resumable(const StateDict& saved);

/// Loads the weights and calls on_load_checkpoint (collective). Errors: CheckpointError; the module is then unchanged.
void load_model(const Checkpoint& checkpoint, Strategy& strategy, LightningModule& module);
/// Where the logs stand.
StateDict logger_states(const Run& run);
/// Loggers drop the rows after the checkpoint. Errors: OutputError if a log is not the one that the checkpoint is of.
void load_logger_states(Run& run, const StateDict& saved);

/// Gradients by the names of the parameters, where there are any: those of a window that is not full.
StateDict gradient_state(const LightningModule& module);
/// Puts them back; those of other parameters are dropped. Errors: CheckpointError if a shape differs.
void load_gradient_state(LightningModule& module, const StateDict& saved);

}  // namespace levin
