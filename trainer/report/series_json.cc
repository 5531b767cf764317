#include "trainer/report/series_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "trainer/report/decimate.h"
#include "trainer/report/run_record_json.h"

namespace levin {
namespace {

using Json = nlohmann::ordered_json;

const char* group_name(MetricGroup group) {
  if (group == MetricGroup::kLearningRate) return "learning rate";
  return group == MetricGroup::kThroughput ? "throughput" : "metric";
}

const char* better_name(Better better) {
  if (better == Better::kLower) return "lower";
  return better == Better::kHigher ? "higher" : "";
}

Json point_to_json(const MetricSeries& series, size_t i) {
  return {{"value", json_number(series.values[i])}, {"step", series.steps[i]}, {"epoch", series.epochs[i]}};
}

void put_points(Json& json, const MetricSeries& series, const std::vector<size_t>& kept) {
  Json steps = Json::array();
  Json epochs = Json::array();
  Json values = Json::array();
  int64_t previous_step = 0;
  int64_t num_in_epoch = 0;
  for (size_t k = 0; k < kept.size(); ++k) {
    const size_t i = kept[k];
    steps.push_back(series.steps[i] - previous_step);
    previous_step = series.steps[i];
    values.push_back(short_number(series.values[i]));
    ++num_in_epoch;
    if (k + 1 < kept.size() && series.epochs[kept[k + 1]] == series.epochs[i]) continue;
    epochs.push_back(series.epochs[i]);
    epochs.push_back(num_in_epoch);
    num_in_epoch = 0;
  }
  json["steps"] = std::move(steps);
  json["epochs"] = std::move(epochs);
  json["values"] = std::move(values);
}

/// Smoothing over the extremes alone would pull a curve to the middle between them.
void put_means(Json& json, const MetricSeries& series, const std::vector<size_t>& kept, size_t max_points) {
  const std::vector<size_t> begins = stretches(series.values.size(), max_points);
  Json means = Json::array();
  for (size_t s = 0; s < begins.size(); ++s) {
    const size_t end = s + 1 < begins.size() ? begins[s + 1] : series.values.size();
    double sum = 0.0;
    size_t count = 0;
    for (size_t i = begins[s]; i < end; ++i) {
      if (!std::isfinite(series.values[i])) continue;
      sum += series.values[i];
      ++count;
    }
    if (count == 0) continue;
    means.push_back(std::lower_bound(kept.begin(), kept.end(), begins[s]) - kept.begin());
    means.push_back(short_number(sum / static_cast<double>(count)));
  }
  json["means"] = std::move(means);
}

void put_extremes(Json& json, const MetricSeries& series, Better better) {
  constexpr size_t kNone = std::string::npos;
  size_t lowest = kNone;
  size_t highest = kNone;
  size_t first_not_finite = kNone;
  size_t num_not_finite = 0;
  for (size_t i = 0; i < series.values.size(); ++i) {
    if (!std::isfinite(series.values[i])) {
      first_not_finite = std::min(first_not_finite, i);
      ++num_not_finite;
      continue;
    }
    if (lowest == kNone || series.values[i] < series.values[lowest]) lowest = i;
    if (highest == kNone || series.values[i] > series.values[highest]) highest = i;
  }
  json["last"] = point_to_json(series, series.values.size() - 1);
  if (lowest != kNone) {
    json["lowest"] = series.values[lowest];
    json["highest"] = series.values[highest];
    if (better != Better::kUnknown) {
      json["best"] = point_to_json(series, better == Better::kLower ? lowest : highest);
    }
  }
  if (num_not_finite == 0) return;
  json["num_not_finite"] = num_not_finite;
  json["first_not_finite"] = series.steps[first_not_finite];
}

}  // namespace

Json short_number(double value) {
  if (!std::isfinite(value)) return json_number(value);
  const double rounded = std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
  // 3 is shorter than 3.0.
  if (rounded == std::floor(rounded) && std::abs(rounded) < 1e7) return static_cast<int64_t>(rounded);
  return rounded;
}

Json series_to_json(const MetricSeries& series, Better better, size_t max_points) {
  const MetricName name = parse_metric_name(series.name);
  Json json = {{"name", series.name},          {"quantity", name.quantity},       {"stage", name.stage},
               {"interval", name.interval},    {"group", group_name(name.group)}, {"better", better_name(better)},
               {"count", series.values.size()}};
  const std::vector<size_t> kept = decimate(series.values, max_points);
  put_points(json, series, kept);
  if (kept.size() < series.values.size()) put_means(json, series, kept, max_points);
  put_extremes(json, series, better);
  return json;
}

}  // namespace levin
