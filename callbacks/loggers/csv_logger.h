#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "callbacks/loggers/log_file.h"
#include "callbacks/loggers/logger.h"
#include "trainer/core/metrics.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Writes <run_dir>/metrics.csv: columns "step", "epoch", then the metrics in the order in which they appeared.
///
/// Rows are appended. A new name rewrites the file once, with empty cells in older rows, under a temporary name that
/// replaces the file. The last row stays open, so that metrics of the same step and epoch with other names join it; one
/// that flush() has written already is then written anew. Values are the shortest text that reads back exactly;
/// "nan", "inf" and "-inf" for what is not finite. Batches of an evaluation have a column
/// "validation_batch" or "test_batch" besides. Names are quoted as in RFC 4180 where they need it.
///
/// In a folder that has a metrics.csv, the file is continued; a last line that a kill has torn is dropped.
/// load_state() brings back the rows and columns of state(). A log that is shorter, as after a power cut, is continued
/// as it stands. Owns the file from open() to its end. Errors, beside those of Logger: ConfigError if a metric is
/// called "step" or "epoch"; OutputError if the file is no such log. After an OutputError the file holds whole rows
/// only.
class CSVLogger final : public Logger {
 public:
  struct Options {
    /// How long a row may wait in memory, where a kill of the process loses it; 0: not at all.
    double flush_seconds = 10;
    void visit(OptionVisitor& visitor) {
      visitor.field("flush_seconds", flush_seconds, "how long rows may wait in memory; 0: not at all", at_least(0));
    }
  };

  CSVLogger() : CSVLogger(Options{}) {}
  explicit CSVLogger(const Options& options) : file_("CSVLogger", options.flush_seconds) {}
  ~CSVLogger() override;
  CSVLogger(const CSVLogger&) = delete;
  CSVLogger& operator=(const CSVLogger&) = delete;

  void open(const std::filesystem::path& run_dir) override;
  void log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) override;
  /// A row of its own, which no other metrics join.
  void log_batch_metrics(const Metrics& metrics, const EvaluationBatch& batch) override;
  void flush() override;
  /// "bytes", "header", and the open row: "row.offset", "row.step", "row.epoch", "row.metrics.<name>".
  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  struct Row {
    int64_t step = 0;
    int64_t epoch = 0;
    Metrics metrics;
  };

  bool joins_pending(const Metrics& metrics, int64_t step, int64_t epoch) const;
  void append_pending();
  void close_pending();
  void place_values(const Metrics& metrics);
  void add_columns(const Metrics& metrics);
  void restore(const std::vector<std::string>& columns, int64_t size);
  [[noreturn]] void fail_other_log() const;

  LogFile file_;
  std::vector<std::string> columns_;
  std::vector<std::optional<double>> cells_;  // of the row that is being written, a cell per column
  std::optional<Row> pending_;
  std::optional<int64_t> pending_offset_;  // where the pending row stands in the file, if flush() has written it
};

}  // namespace levin
