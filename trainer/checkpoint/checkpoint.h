#pragma once

#include <filesystem>

#include "trainer/core/state_dict.h"

namespace levin {

/// All that is needed to go on with a run. In memory only; save_checkpoint and load_checkpoint know the files.
struct Checkpoint {
  StateDict model;      ///< Parameters and buffers by name; see module_state().
  StateDict optimizer;  ///< Tensors and numbers of the optimizer.
  StateDict run;        ///< Loops, callbacks, loader, RNG, hyper-parameters: names with dots, as "loop.epoch".
};

/// Writes a checkpoint as a folder:
///
///   model.safetensors      tensors of `model`; tied ones once, the other names in the metadata
///   optimizer.safetensors  tensors of `optimizer`
///   run.safetensors        tensors of `run`; only if there are any
///   state.json             everything that is no tensor; see state_json.h
///   manifest.json          sizes and checksums; written last
///
/// Atomic: whenever the process is killed, `folder` is the older checkpoint or this one, complete (see AtomicFolder).
/// Tensors may be on any device; they are brought to the CPU one at a time.
/// Errors: CheckpointError with path, operation and reason; the older checkpoint is then as it was.
void save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

/// Reads a checkpoint after checking all its files against the manifest. Tensors are on the CPU; tied ones are tied.
/// In each state dict the tensors come first, then the numbers and texts, else in the order in which they were saved.
/// Errors: CheckpointError that names what is missing, damaged or malformed; nothing is returned half.
Checkpoint load_checkpoint(const std::filesystem::path& folder);

/// Numbers and texts of a checkpoint's `run`, without its tensors and without looking at its other files: to choose
/// among checkpoints. Errors: CheckpointError if there is no complete folder, or its state.json cannot be read.
StateDict load_run_scalars(const std::filesystem::path& folder);

}  // namespace levin
