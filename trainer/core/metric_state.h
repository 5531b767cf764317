#pragma once

#include <vector>

#include "trainer/core/metric_slot.h"
#include "trainer/core/state_dict.h"

namespace levin {

/// Everything that the slots hold, exact: "size", and "<index>.<field>" of each. Device tensors are copied on their
/// device; a metric adds its own state.
StateDict save_slots(const std::vector<MetricSlot>& slots);

/// The slots that save_slots wrote. A metric's state waits in `loaded`. Errors: CheckpointError if an entry is missing,
/// or is not what it must be.
std::vector<MetricSlot> load_slots(const StateDict& state);

}  // namespace levin
