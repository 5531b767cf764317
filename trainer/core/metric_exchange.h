#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/core/communicator.h"

namespace levin {

class ScalarMetric;

/// The text of each rank, by rank (collective: two calls). World size 1: no call.
std::vector<std::string> gather_texts(Communicator& communicator, std::string_view mine);

/// metric->compute() where some ranks do not have the metric, since they never logged it (collective). The ranks that
/// have it compute; the others take part in each of its reductions with zeros, or with the infinity that a minimum or
/// maximum ignores.
///
/// `metric`: null on the ranks without it. `source`: the lowest rank that has it, the same on all ranks.
/// Errors: those of compute() on the ranks that have it, DistributedError on the others.
double compute_with_absent_ranks(const ScalarMetric* metric, int64_t source, Communicator& communicator);

}  // namespace levin
