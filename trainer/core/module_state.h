#pragma once

#include <torch/nn/module.h>

#include "trainer/core/state_dict.h"

namespace levin {

/// The parameters, then the buffers of a module under their full names, as "encoder.weight". The tensors are detached
/// and share the module's memory: save them, or clone them, before they change. A tied tensor is there under each of
/// its names, with the same memory, and is saved once (see write_state_tensors). Undefined tensors are left out.
/// Errors: ModelError if a parameter and a buffer have one name.
StateDict module_state(const torch::nn::Module& module);

/// Copies saved values into the parameters and buffers of a module, which keep their device, dtype, memory and ties.
///
/// A tied tensor needs only one of its names in `state`; if several are there, their values must be equal.
/// Errors: CheckpointError that lists all names that are missing, unexpected, or of another shape or kind, with the
/// shapes; the module is then as it was.
void load_module_state(torch::nn::Module& module, const StateDict& state);

}  // namespace levin
