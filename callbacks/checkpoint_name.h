#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trainer/core/metrics.h"

namespace levin {

/// The folder name of a checkpoint. In `pattern`, "{name}" stands for "name=value" and "{name:spec}" for the value in
/// the form `spec` of fmt, where name is "epoch" (from 0), "step" (optimizer steps done) or a metric:
///
///   "{epoch}-{val_acc:.4f}"  ->  "epoch=1-val_acc=0.9012"
///
/// Without `inserts_names`, "{epoch}" is the value alone: "1". A metric that has no value is "nan". A "/" in a metric's
/// name becomes "_".
std::string format_checkpoint_name(std::string_view pattern, int64_t epoch, int64_t step, const Metrics& metrics,
                                   bool inserts_names = true);

/// What is wrong with a pattern, for example "has a { without a }"; "" if it can be used.
std::string find_pattern_problem(std::string_view pattern, bool inserts_names = true);

}  // namespace levin
