#include "callbacks/loggers/json_lines_logger.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "callbacks/loggers/metric_names.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr std::string_view kStart = "{\"step\":";

void format_value(fmt::memory_buffer& line, double value) {
  const auto end = std::back_inserter(line);
  if (std::isfinite(value)) {
    fmt::format_to(end, "{}", value);
  } else {
    fmt::format_to(end, "\"{}\"", std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  }
}

}  // namespace

void JSONLinesLogger::open(const std::filesystem::path& run_dir) {
  file_.open(run_dir / "metrics.jsonl");
  const std::string text = file_.read();
  if (text.substr(0, kStart.size()) != kStart.substr(0, text.size())) {
    file_.close();
    throw OutputError(
        fmt::format("[JSONLinesLogger] {} is no log of metrics: its first line does not begin with {}. Move it away, "
                    "or use another run folder.",
                    file_.path().string(), kStart));
  }
  file_.truncate(static_cast<int64_t>(text.rfind('\n') + 1));  // npos + 1 is 0
}

void JSONLinesLogger::log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) {
  if (!file_.is_open()) throw InternalError("[JSONLinesLogger] log_metrics was called before open.");
  if (metrics.empty()) return;
  check_metric_names(metrics, "JSONLinesLogger", "key");
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), "{}{},\"epoch\":{}", kStart, step, epoch);
  for (const auto& [name, value] : metrics) {
    const std::string& key = key_of(name);
    line.append(key.data(), key.data() + key.size());
    format_value(line, value);
  }
  line.push_back('}');
  line.push_back('\n');
  file_.append({line.data(), line.size()});
}

// Names mostly come in the same order, so the search begins behind the last hit.
const std::string& JSONLinesLogger::key_of(const std::string& name) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (next_key_ == keys_.size()) next_key_ = 0;
    const auto& [known, key] = keys_[next_key_++];
    if (known == name) return key;
  }
  using Json = nlohmann::json;
  keys_.emplace_back(name, fmt::format(",{}:", Json(name).dump(-1, ' ', false, Json::error_handler_t::replace)));
  next_key_ = keys_.size();
  return keys_.back().second;
}

StateDict JSONLinesLogger::state() const {
  StateDict state;
  state.set("bytes", file_.size());
  return state;
}

void JSONLinesLogger::load_state(const StateDict& state) {
  if (!file_.is_open()) throw InternalError("[JSONLinesLogger] load_state was called before open.");
  const int64_t size = state.integer("bytes");
  if (size <= file_.size() && !file_.is_line_start(size)) {
    throw OutputError(
        fmt::format("[JSONLinesLogger] {} is not the log that the checkpoint belongs to: byte {} is within a line. "
                    "Move it away, or use another run folder.",
                    file_.path().string(), size));
  }
  file_.truncate(size);
}

}  // namespace levin
