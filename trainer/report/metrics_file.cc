#include "trainer/report/metrics_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace levin {
namespace {

constexpr size_t kNoColumn = std::string::npos;

/// Takes the records of a CSV text one after the other.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  /// The cells of the next record; false at the end, and if the record does not end: is_torn() is then true.
  bool next(std::vector<std::string>& cells) {
    cells.assign(1, "");
    bool is_quoted = false;
    for (size_t i = at_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '"' && is_quoted && text_.substr(i + 1, 1) == "\"") {
        cells.back() += text_[++i];
      } else if (c == '"') {
        is_quoted = !is_quoted;
      } else if (is_quoted || (c != ',' && c != '\n' && c != '\r')) {
        cells.back() += c;
      } else if (c == ',') {
        cells.emplace_back();
      } else if (c == '\n') {
        at_ = i + 1;
        return true;
      }
    }
    is_torn_ = at_ < text_.size();
    return false;
  }
  bool is_torn() const { return is_torn_; }

 private:
  std::string_view text_;
  size_t at_ = 0;
  bool is_torn_ = false;
};

std::optional<double> parse_number(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + text.starts_with('+'), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// Steps and epochs may be written as 12 or 12.0.
std::optional<int64_t> parse_count(std::string_view text) {
  constexpr double kMaxExact = 9007199254740992.0;  // 2^53
  const auto value = parse_number(text);
  if (!value || *value < 0 || *value > kMaxExact || *value != std::floor(*value)) return std::nullopt;
  return static_cast<int64_t>(*value);
}

/// Turns rows into series.
class SeriesBuilder {
 public:
  explicit SeriesBuilder(const std::vector<std::string>& header) : series_(header.size()) {
    for (size_t i = 0; i < header.size(); ++i) {
      series_[i].name = header[i];
      if (header[i] == "step" && step_column_ == kNoColumn) step_column_ = i;
      if (header[i] == "epoch" && epoch_column_ == kNoColumn) epoch_column_ = i;
      if (header[i] == "validation_batch" || header[i] == "test_batch") batch_columns_.push_back(i);
    }
  }

  bool has_steps() const { return step_column_ != kNoColumn; }

  void add_row(const std::vector<std::string>& cells) {
    if (cells.size() == 1 && cells[0].empty()) return;  // an empty line
    if (is_of_batch(cells)) return;
    if (cells.size() > series_.size()) ++num_long_rows_;
    const auto step = count_at(cells, step_column_);
    const auto epoch = epoch_column_ == kNoColumn ? std::optional<int64_t>(0) : count_at(cells, epoch_column_);
    if (!step || !epoch) {
      ++num_rows_without_step_;
      return;
    }
    for (size_t i = 0; i < std::min(cells.size(), series_.size()); ++i) {
      if (i == step_column_ || i == epoch_column_ || cells[i].empty()) continue;
      const auto value = parse_number(cells[i]);
      if (!value) {
        ++num_bad_cells_;
        continue;
      }
      series_[i].steps.push_back(*step);
      series_[i].epochs.push_back(*epoch);
      series_[i].values.push_back(*value);
    }
  }

  MetricsFile finish() {
    MetricsFile file;
    for (MetricSeries& series : series_) {
      if (!series.values.empty()) file.series.push_back(in_order(series));
    }
    const auto note = [&](size_t count, const char* what) {
      if (count > 0) file.notes.push_back(fmt::format("metrics.csv: {} {}.", count, what));
    };
    note(num_rows_without_step_, "rows have no step or no epoch and are left out");
    note(num_bad_cells_, "cells are no numbers and are left out");
    note(num_long_rows_, "rows have more cells than the header has names");
    return file;
  }

 private:
  bool is_of_batch(const std::vector<std::string>& cells) const {
    return std::any_of(batch_columns_.begin(), batch_columns_.end(),
                       [&](size_t column) { return column < cells.size() && !cells[column].empty(); });
  }
  static std::optional<int64_t> count_at(const std::vector<std::string>& cells, size_t column) {
    return column < cells.size() ? parse_count(cells[column]) : std::nullopt;
  }

  static MetricSeries in_order(const MetricSeries& series) {
    std::vector<size_t> order(series.values.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto place = [&](size_t i) { return std::pair(series.epochs[i], series.steps[i]); };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
    MetricSeries sorted{.name = series.name};
    for (size_t i = 0; i < order.size(); ++i) {
      if (i + 1 < order.size() && place(order[i]) == place(order[i + 1])) continue;  // a later row has the same place
      sorted.steps.push_back(series.steps[order[i]]);
      sorted.epochs.push_back(series.epochs[order[i]]);
      sorted.values.push_back(series.values[order[i]]);
    }
    return sorted;
  }

  std::vector<MetricSeries> series_;
  size_t step_column_ = kNoColumn;
  size_t epoch_column_ = kNoColumn;
  std::vector<size_t> batch_columns_;  // filled where a row is of a single evaluation batch
  size_t num_rows_without_step_ = 0;
  size_t num_bad_cells_ = 0;
  size_t num_long_rows_ = 0;
};

}  // namespace

MetricsFile parse_metrics(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte-order mark
  MetricsFile file;
  CsvReader reader(text);
  std::vector<std::string> cells;
  if (!reader.next(cells)) {
    if (reader.is_torn()) file.notes.emplace_back("metrics.csv: the header is cut off, so there are no metrics.");
    return file;
  }
  SeriesBuilder builder(cells);
  if (!builder.has_steps()) {
    file.notes.emplace_back("metrics.csv: there is no column \"step\", so this is no log of metrics.");
    return file;
  }
  while (reader.next(cells)) builder.add_row(cells);
  file = builder.finish();
  if (reader.is_torn()) file.notes.emplace_back("metrics.csv: the last line is cut off and left out.");
  return file;
}

}  // namespace levin
