#pragma once

#include "callbacks/run_context.h"

namespace levin {

/// In on_train_batch_end: true if the fit validates right after this micro-batch, before it trains on another one.
/// False where that is not known: validations at time intervals, or fractions of an epoch of unknown length.
bool is_validation_next(const RunContext& run);

/// True if every validation of the fit is at the end of an epoch, and every epoch has one.
bool validates_at_each_epoch_end(const RunContext& run);

}  // namespace levin
