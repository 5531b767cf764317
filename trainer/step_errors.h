#pragma once

#include <c10/util/Exception.h>

#include <string_view>

#include "trainer/core/batch.h"
#include "trainer/core/trainer_state.h"

namespace levin {

/// Throws what LibTorch threw in a step as a ModelError that says where the run was and what the batch looked like.
/// Called in a catch block. Errors that users search for by name (out of memory, accelerator faults) pass through
/// unchanged.
[[noreturn]] void rethrow_step_error(const c10::Error& error, std::string_view what, const TrainerState& state,
                                     const Batch& batch);

}  // namespace levin
