#include "trainer/report/run_record_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "trainer/core/error.h"

namespace levin {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<RunStatus, 5> kStatuses = {RunStatus::kRunning, RunStatus::kFinished, RunStatus::kStoppedEarly,
                                                RunStatus::kInterrupted, RunStatus::kFailed};

// ---- writing

void put(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = json_number(*value);
}

template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

Json numbers_to_json(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(json_number(value));
  return json;
}

Json curve_to_json(const ReportCurve& curve, const std::string& title) {
  if (curve.x.size() != curve.y.size()) {
    throw ConfigError(
        fmt::format("[RunRecord] the curve of the section \"{}\" must have as many x as y, got {} and {}.", title,
                    curve.x.size(), curve.y.size()));
  }
  Json json;
  put(json, "x_name", curve.x_name);
  put(json, "y_name", curve.y_name);
  json["x"] = numbers_to_json(curve.x);
  json["y"] = numbers_to_json(curve.y);
  json["is_log_x"] = curve.is_log_x;
  put(json, "marked_x", curve.marked_x);
  return json;
}

Json section_to_json(const ReportSection& section) {
  Json json = {{"title", section.title}};
  put(json, "text", section.text);
  if (section.table) json["table"] = {{"columns", section.table->columns}, {"rows", section.table->rows}};
  if (section.curve) json["curve"] = curve_to_json(*section.curve, section.title);
  return json;
}

Json model_row_to_json(const ModelRow& row) {
  Json json = {{"name", row.name}, {"type", row.type}};
  put(json, "output_shape", row.output_shape);
  json["parameters"] = row.parameters;
  json["bytes"] = row.bytes;
  return json;
}

template <class T, class Convert>
void put_list(Json& json, const char* key, const std::vector<T>& list, const Convert& convert) {
  for (const T& item : list) json[key].push_back(convert(item));
}

// ---- reading

/// Reads the fields of one JSON object. A field that is missing or null leaves its target as it is.
class FieldReader {
 public:
  FieldReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail("must be an object", json);
  }

  void read(const char* key, std::string& target) const {
    if (const Json* value = find(key, &Json::is_string, "a text")) target = value->get<std::string>();
  }
  void read(const char* key, bool& target) const {
    if (const Json* value = find(key, &Json::is_boolean, "true or false")) target = value->get<bool>();
  }
  void read(const char* key, int64_t& target) const {
    if (const Json* value = find(key, &Json::is_number_integer, "a whole number")) target = value->get<int64_t>();
  }
  void read(const char* key, uint64_t& target) const {
    if (const Json* value = find(key, &Json::is_number_unsigned, "a whole number")) target = value->get<uint64_t>();
  }
  void read(const char* key, double& target) const {
    if (const Json* value = find(key)) target = number(*value, key);
  }
  void read(const char* key, std::vector<double>& target) const {
    each(key, [&](const Json& item, const std::string& where) { target.push_back(number(item, where)); });
  }
  void read(const char* key, std::vector<std::string>& target) const {
    each(key, [&](const Json& item, const std::string& where) { target.push_back(text(item, where)); });
  }
  template <class T>
  void read(const char* key, std::optional<T>& target) const {
    if (find(key) == nullptr) return;
    T value{};
    read(key, value);
    target = value;
  }
  /// Calls fn(item, place) for each item of a list.
  template <class Fn>
  void each(const char* key, const Fn& fn) const {
    const Json* list = find(key, &Json::is_array, "a list");
    for (size_t i = 0; list != nullptr && i < list->size(); ++i)
      fn((*list)[i], fmt::format("{}.{}[{}]", where_, key, i));
  }
  /// The object at `key`, if there is one.
  std::optional<FieldReader> object(const char* key) const {
    const Json* value = find(key);
    return value == nullptr ? std::nullopt : std::optional(FieldReader(*value, where_ + "." + key));
  }
  const Json* find(const char* key) const {
    const auto it = json_.find(key);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }
  std::string text(const Json& value, const std::string& place) const {
    if (!value.is_string()) fail(place + " must be a text", value);
    return value.get<std::string>();
  }

 private:
  using IsType = bool (Json::*)() const noexcept;

  const Json* find(const char* key, IsType is_type, const char* type) const {
    const Json* value = find(key);
    if (value != nullptr && !(value->*is_type)()) fail(fmt::format("{} must be {}", key, type), *value);
    return value;
  }
  double number(const Json& value, const std::string& place) const {
    if (value.is_number()) return value.get<double>();
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (value == "inf") return std::numeric_limits<double>::infinity();
    if (value == "-inf") return -std::numeric_limits<double>::infinity();
    fail(place + " must be a number", value);
  }
  [[noreturn]] void fail(const std::string& rule, const Json& value) const {
    throw DataError(fmt::format("[RunRecord] {}: {}, got {}.", where_, rule,
                                value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60)));
  }

  const Json& json_;
  std::string where_;
};

void read_status(const FieldReader& fields, RunStatus& status, const std::string& source) {
  std::string name = run_status_name(status);
  fields.read("status", name);
  for (const RunStatus candidate : kStatuses) {
    if (run_status_name(candidate) != name) continue;
    status = candidate;
    return;
  }
  throw DataError(
      fmt::format("[RunRecord] {}: status must be running, finished, stopped early, interrupted or failed, got \"{}\".",
                  source, name));
}

ModelRow read_model_row(const FieldReader& fields) {
  ModelRow row;
  fields.read("name", row.name);
  fields.read("type", row.type);
  fields.read("output_shape", row.output_shape);
  fields.read("parameters", row.parameters);
  fields.read("bytes", row.bytes);
  return row;
}

TimeSection read_time_section(const FieldReader& fields) {
  TimeSection section;
  fields.read("name", section.name);
  fields.read("seconds", section.seconds);
  fields.read("share", section.share);
  return section;
}

ReportTable read_table(const FieldReader& fields) {
  ReportTable table;
  fields.read("columns", table.columns);
  fields.each("rows", [&](const Json& row, const std::string& where) {
    if (!row.is_array()) throw DataError(fmt::format("[RunRecord] {} must be a list.", where));
    auto& cells = table.rows.emplace_back();
    for (const Json& cell : row) cells.push_back(fields.text(cell, where));
  });
  return table;
}

ReportCurve read_curve(const FieldReader& fields, const std::string& where) {
  ReportCurve curve;
  fields.read("x_name", curve.x_name);
  fields.read("y_name", curve.y_name);
  fields.read("x", curve.x);
  fields.read("y", curve.y);
  fields.read("is_log_x", curve.is_log_x);
  fields.read("marked_x", curve.marked_x);
  if (curve.x.size() != curve.y.size()) {
    throw DataError(fmt::format("[RunRecord] {}.curve must have as many x as y, got {} and {}.", where, curve.x.size(),
                                curve.y.size()));
  }
  return curve;
}

ReportSection read_section(const FieldReader& fields, const std::string& where) {
  ReportSection section;
  fields.read("title", section.title);
  fields.read("text", section.text);
  if (const auto table = fields.object("table")) section.table = read_table(*table);
  if (const auto curve = fields.object("curve")) section.curve = read_curve(*curve, where);
  return section;
}

void read_lists(const FieldReader& fields, RunRecord& record) {
  fields.each("hyper_parameters", [&](const Json& pair, const std::string& where) {
    if (!pair.is_array() || pair.size() != 2) {
      throw DataError(fmt::format("[RunRecord] {} must be a list of a name and a value.", where));
    }
    record.hyper_parameters.emplace_back(fields.text(pair[0], where), fields.text(pair[1], where));
  });
  fields.each("model", [&](const Json& row, const std::string& where) {
    record.model.push_back(read_model_row(FieldReader(row, where)));
  });
  fields.each("time_split", [&](const Json& section, const std::string& where) {
    record.time_split.push_back(read_time_section(FieldReader(section, where)));
  });
  fields.each("sections", [&](const Json& section, const std::string& where) {
    record.sections.push_back(read_section(FieldReader(section, where), where));
  });
}

}  // namespace

Json json_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Json run_record_to_json(const RunRecord& record) {
  Json json;
  put(json, "experiment", record.experiment);
  put(json, "version", record.version);
  json["status"] = run_status_name(record.status);
  put(json, "start_time", record.start_time);
  put(json, "end_time", record.end_time);
  put(json, "command_line", record.command_line);
  put(json, "seed", record.seed);
  put(json, "num_epochs", record.num_epochs);
  put(json, "num_steps", record.num_steps);
  put(json, "num_samples", record.num_samples);
  put(json, "peak_memory_bytes", record.peak_memory_bytes);
  put(json, "best_checkpoint", record.best_checkpoint);
  put(json, "monitor", record.monitor);
  put(json, "best_score", record.best_score);
  put(json, "error", record.error);
  put_list(json, "hyper_parameters", record.hyper_parameters, [](const auto& pair) {
    return Json::array({pair.first, pair.second});
  });
  put_list(json, "time_split", record.time_split, [](const TimeSection& section) {
    return Json{
        {"name", section.name}, {"seconds", json_number(section.seconds)}, {"share", json_number(section.share)}};
  });
  put_list(json, "model", record.model, model_row_to_json);
  put_list(json, "sections", record.sections, section_to_json);
  put(json, "environment", record.environment);
  return json;
}

RunRecord run_record_from_json(const Json& json, const std::string& source) {
  RunRecord record;
  const FieldReader fields(json, source);
  fields.read("experiment", record.experiment);
  fields.read("version", record.version);
  read_status(fields, record.status, source);
  fields.read("start_time", record.start_time);
  fields.read("end_time", record.end_time);
  fields.read("command_line", record.command_line);
  fields.read("seed", record.seed);
  fields.read("num_epochs", record.num_epochs);
  fields.read("num_steps", record.num_steps);
  fields.read("num_samples", record.num_samples);
  fields.read("peak_memory_bytes", record.peak_memory_bytes);
  fields.read("environment", record.environment);
  fields.read("best_checkpoint", record.best_checkpoint);
  fields.read("monitor", record.monitor);
  fields.read("best_score", record.best_score);
  fields.read("error", record.error);
  read_lists(fields, record);
  return record;
}

}  // namespace levin
