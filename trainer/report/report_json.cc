#include "trainer/report/report_json.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string_view>
#include <utility>

#include "trainer/core/version.h"
#include "trainer/report/run_record_json.h"
#include "trainer/report/series_json.h"

namespace levin {
namespace {

using Json = nlohmann::ordered_json;
using Directions = std::map<std::string, Better>;

/// What the runs' callbacks say: `monitor: val_acc` beside `mode: max`.
Directions monitored_directions(const std::vector<RunData>& runs) {
  constexpr std::string_view kMonitor = ".monitor";
  Directions directions;
  for (const RunData& run : runs) {
    const std::map<std::string, std::string> settings(run.settings.begin(), run.settings.end());
    for (const auto& [key, metric] : settings) {
      if (!key.ends_with(kMonitor)) continue;
      const auto mode = settings.find(key.substr(0, key.size() - kMonitor.size()) + ".mode");
      if (mode == settings.end()) continue;
      if (mode->second == "min") directions[metric] = Better::kLower;
      if (mode->second == "max") directions[metric] = Better::kHigher;
    }
  }
  return directions;
}

Better direction_of(const std::string& metric, const Directions& directions) {
  const auto known = directions.find(metric);
  return known == directions.end() ? better_values(metric) : known->second;
}

Json record_to_json(const RunRecord& record) {
  Json json = run_record_to_json(record);
  // JavaScript has no integers above 2^53.
  if (record.seed) json["seed"] = std::to_string(*record.seed);
  return json;
}

Json run_to_json(const RunData& run, const Directions& directions, size_t max_points) {
  Json json = {{"name", run.name}, {"folder", run.folder.string()}, {"notes", run.notes}};
  json["record"] = run.record ? record_to_json(*run.record) : Json(nullptr);
  json["config"] = run.config;
  json["settings"] = Json::array();
  for (const auto& [key, value] : run.settings) json["settings"].push_back({key, value});
  json["epochs"] = Json::array();
  for (const EpochSpan& span : run.epochs) json["epochs"].push_back({span.epoch, span.first_step, span.num_steps});
  json["series"] = Json::array();
  for (const MetricSeries& series : run.metrics) {
    if (series.values.empty()) continue;
    json["series"].push_back(series_to_json(series, direction_of(series.name, directions), max_points));
  }
  return json;
}

std::string escape_for_script(const std::string& text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '<': escaped += "\\u003c"; break;
      case '>': escaped += "\\u003e"; break;
      case '&': escaped += "\\u0026"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string report_json(const std::vector<RunData>& runs, const std::string& written_at, size_t max_points) {
  const Directions directions = monitored_directions(runs);
  Json json = {{"version", kVersion}, {"written_at", written_at}};
  json["runs"] = Json::array();
  for (const RunData& run : runs) json["runs"].push_back(run_to_json(run, directions, max_points));
  // Outside of JSON's texts none of the three characters occurs.
  return escape_for_script(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace levin
