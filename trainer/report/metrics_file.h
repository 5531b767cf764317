#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// One metric over a run: the cells of its column that are not empty. The three vectors have the same length; epoch and
/// step never fall, and no two points have both the same.
struct MetricSeries {
  std::string name = {};
  std::vector<int64_t> steps = {};   ///< Optimizer steps, from 0.
  std::vector<int64_t> epochs = {};  ///< From 0.
  std::vector<double> values = {};   ///< May be NaN or infinite: what was logged.
};

/// What metrics.csv holds.
struct MetricsFile {
  std::vector<MetricSeries> series = {};  ///< In the order of the columns; a column without a value is left out.
  std::vector<std::string> notes = {};    ///< What was wrong with the file, one sentence each.
};

/// Reads the text of metrics.csv: a header with "step" and "epoch" (or only "step") in any place, then rows of numbers,
/// quoted as in RFC 4180 or not. Never fails: cells that are no numbers, rows without a step and a last line without
/// its end (a kill has torn it, and what is left of a number may be another number) are left out and noted. Where a
/// metric has several values at one step of one epoch, the last row counts. Rows of single batches of a validation or
/// test, which have a cell in "validation_batch" or "test_batch", are left out: they have no step of their own.
MetricsFile parse_metrics(std::string_view text);

}  // namespace levin
