#include "callbacks/loggers/csv_logger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <utility>

#include "callbacks/loggers/metric_names.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr size_t kNumFixedColumns = 2;  // step, epoch

std::string quote(const std::string& name) {
  if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string format_header(const std::vector<std::string>& columns) {
  if (columns.empty()) return "";
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ",") + quote(column);
  return text + "\n";
}

// Reads the first record into `columns`. Returns its length with the line end; 0 if the text ends within it.
size_t parse_header(std::string_view text, std::vector<std::string>& columns) {
  columns.assign(1, "");
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && is_quoted && text.substr(i + 1, 1) == "\"") {
      columns.back() += text[++i];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      columns.emplace_back();
    } else if (c == '\n' && !is_quoted) {
      return i + 1;
    } else if (c != '\r' || is_quoted) {
      columns.back() += c;
    }
  }
  columns.clear();
  return 0;
}

// True if `text` begins as a log does, or would if a kill had not cut it.
bool may_be_log(std::string_view text) {
  constexpr std::string_view kStart = "step,epoch";
  if (text.substr(0, kStart.size()) != kStart.substr(0, text.size())) return false;
  return text.size() <= kStart.size() || std::string_view(",\r\n").find(text[kStart.size()]) != std::string_view::npos;
}

bool starts_with(const std::vector<std::string>& columns, const std::vector<std::string>& start) {
  return start.size() <= columns.size() && std::equal(start.begin(), start.end(), columns.begin());
}

// Calls fn(line), without the line end, for each line of `text`.
template <class Fn>
void for_each_line(std::string_view text, const Fn& fn) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    fn(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace

CSVLogger::~CSVLogger() {
  try {
    append_pending();
  } catch (const std::exception&) {
    // Nobody is left to tell; a caller who must know calls flush().
  }
}

void CSVLogger::open(const std::filesystem::path& run_dir) {
  close_pending();
  file_.open(run_dir / "metrics.csv");
  const std::string text = file_.read();
  if (!may_be_log(text)) {
    file_.close();
    throw OutputError(
        fmt::format("[CSVLogger] {} is no log of metrics: its first columns are not \"step,epoch\". "
                    "Move it away, or use another run folder.",
                    file_.path().string()));
  }
  // A kill may have torn the header, or the last row.
  const size_t header_size = parse_header(text, columns_);
  file_.truncate(header_size == 0 ? 0 : static_cast<int64_t>(text.rfind('\n') + 1));
}

void CSVLogger::log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) {
  if (!file_.is_open()) throw InternalError("[CSVLogger] log_metrics was called before open.");
  if (metrics.empty()) return;
  check_metric_names(metrics, "CSVLogger", "column");
  if (joins_pending(metrics, step, epoch)) {
    if (pending_offset_) file_.truncate(*std::exchange(pending_offset_, std::nullopt));
    pending_->metrics.set_all(metrics);
    return;
  }
  close_pending();
  pending_ = Row{step, epoch, metrics};
}

void CSVLogger::log_batch_metrics(const Metrics& metrics, const EvaluationBatch& batch) {
  close_pending();
  Logger::log_batch_metrics(metrics, batch);
  close_pending();
}

void CSVLogger::flush() {
  append_pending();
  file_.flush();
}

bool CSVLogger::joins_pending(const Metrics& metrics, int64_t step, int64_t epoch) const {
  return pending_ && pending_->step == step && pending_->epoch == epoch &&
         std::none_of(metrics.begin(), metrics.end(),
                      [&](const Metrics::Entry& e) { return pending_->metrics.find(e.first); });
}

// A row whose columns could not be added stays pending, so that the next call tries again.
void CSVLogger::append_pending() {
  if (!pending_ || pending_offset_) return;
  add_columns(pending_->metrics);
  place_values(pending_->metrics);
  fmt::memory_buffer line;
  const auto end = std::back_inserter(line);
  fmt::format_to(end, "{},{}", pending_->step, pending_->epoch);
  for (size_t i = kNumFixedColumns; i < columns_.size(); ++i) {
    line.push_back(',');
    // The sign of a nan means nothing.
    if (cells_[i]) fmt::format_to(end, "{}", std::isnan(*cells_[i]) ? std::abs(*cells_[i]) : *cells_[i]);
  }
  line.push_back('\n');
  pending_offset_ = file_.size();  // in the file's memory from here on, even if the write fails
  file_.append({line.data(), line.size()});
}

void CSVLogger::close_pending() {
  append_pending();
  pending_.reset();
  pending_offset_.reset();
}

// Rows mostly have their metrics in the order of the columns, so the search begins behind the last hit.
void CSVLogger::place_values(const Metrics& metrics) {
  cells_.assign(columns_.size(), std::nullopt);
  size_t column = kNumFixedColumns;
  for (const auto& [name, value] : metrics) {
    while (columns_[column] != name) column = column + 1 < columns_.size() ? column + 1 : kNumFixedColumns;
    cells_[column] = value;
  }
}

void CSVLogger::add_columns(const Metrics& metrics) {
  std::vector<std::string> columns = columns_;
  if (columns.empty()) columns = {"step", "epoch"};
  size_t guess = kNumFixedColumns;  // as in place_values
  for (const auto& [name, value] : metrics) {
    if (guess < columns.size() && columns[guess++] == name) continue;
    const auto found = std::find(columns.begin(), columns.end(), name);
    guess = static_cast<size_t>(found - columns.begin()) + 1;
    if (found == columns.end()) columns.push_back(name);
  }
  if (columns.size() == columns_.size()) return;
  if (file_.size() == 0) {
    file_.append(format_header(columns));
  } else {
    const std::string old_text = file_.read();
    std::vector<std::string> old_columns;
    const size_t header_size = parse_header(old_text, old_columns);
    const std::string empty_cells(columns.size() - old_columns.size(), ',');
    std::string text = format_header(columns);
    for_each_line(std::string_view(old_text).substr(header_size),
                  [&](std::string_view line) { text.append(line).append(empty_cells).append("\n"); });
    file_.replace(text);
  }
  columns_ = std::move(columns);
}

StateDict CSVLogger::state() const {
  StateDict state;
  state.set("bytes", file_.size());
  state.set("header", format_header(columns_));
  if (!pending_) return state;
  state.set("row.offset", pending_offset_.value_or(file_.size()));
  state.set("row.step", pending_->step);
  state.set("row.epoch", pending_->epoch);
  for (const auto& [name, value] : pending_->metrics) state.set("row.metrics." + name, value);
  return state;
}

void CSVLogger::load_state(const StateDict& state) {
  if (!file_.is_open()) throw InternalError("[CSVLogger] load_state was called before open.");
  const int64_t size = state.integer(state.contains("row.offset") ? "row.offset" : "bytes");
  std::vector<std::string> columns;
  parse_header(state.text("header"), columns);
  pending_.reset();
  pending_offset_.reset();
  if (columns == columns_) {
    if (size <= file_.size() && !file_.is_line_start(size)) fail_other_log();
    file_.truncate(size);
  } else if (starts_with(columns_, columns)) {
    restore(columns, size);
  } else if (!starts_with(columns, columns_)) {
    fail_other_log();
  }
  if (!state.contains("row.offset")) return;
  pending_ = Row{state.integer("row.step"), state.integer("row.epoch"), {}};
  for (const auto& [name, value] : state.under("row.metrics.")) pending_->metrics.set(name, std::get<double>(value));
  flush();
}

// Columns came after the state was taken, so that its rows have empty cells at their ends now.
void CSVLogger::restore(const std::vector<std::string>& columns, int64_t size) {
  const std::string old_text = file_.read();
  std::vector<std::string> old_columns;
  const size_t header_size = parse_header(old_text, old_columns);
  const std::string empty_cells(old_columns.size() - columns.size(), ',');
  std::string text = format_header(columns);
  for_each_line(std::string_view(old_text).substr(header_size), [&](std::string_view line) {
    if (static_cast<int64_t>(text.size()) >= size) return;
    if (!line.ends_with(empty_cells)) fail_other_log();
    line.remove_suffix(empty_cells.size());
    text.append(line).append("\n");
  });
  if (static_cast<int64_t>(text.size()) > size) fail_other_log();
  file_.replace(text);
  columns_ = columns;
}

void CSVLogger::fail_other_log() const {
  throw OutputError(
      fmt::format("[CSVLogger] {} is not the log that the checkpoint belongs to: its columns or rows differ. Move it "
                  "away, or use another run folder.",
                  file_.path().string()));
}

}  // namespace levin
