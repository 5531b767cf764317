#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>

#include "trainer/report/metric_name.h"
#include "trainer/report/metrics_file.h"

namespace levin {

/// One metric with at least one value, compactly:
///
///   name, quantity, stage, interval, group ("metric", "learning rate", "throughput"), better ("lower", "higher", "")
///   count                    points before decimation
///   steps                    the first step, then differences
///   epochs                   epoch, number of points, epoch, number of points, ...
///   values                   7 digits; "nan", "inf", "-inf"
///   means                    if decimated: index into the points, mean of the finite values from there on, ...
///   last, best: {value, step, epoch}; lowest, highest; num_not_finite, first_not_finite (a step)
nlohmann::ordered_json series_to_json(const MetricSeries& series, Better better, size_t max_points);

/// The same number with 7 digits, or its name if it is not finite.
nlohmann::ordered_json short_number(double value);

}  // namespace levin
