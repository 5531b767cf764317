#pragma once

#include <vector>

#include "trainer/core/communicator.h"
#include "trainer/core/metric_slot.h"
#include "trainer/core/metrics.h"

namespace levin {

/// The epoch's values over all ranks, by the names for loggers, the same on every rank (collective). Adds the slots
/// that only other ranks have. The names come in rank 0's order, then what rank 1 has beyond them, and so on.
///
/// Calls: two to agree on the names, one sum for all values, one maximum if there is any extreme, and those of each
/// metric. World size 1: none. Errors: ConfigError on all ranks if two have a name with different options.
Metrics reduce_epoch(std::vector<MetricSlot>& slots, Communicator& communicator);

}  // namespace levin
