#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "callbacks/loggers/logger.h"
#include "trainer/core/metrics.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Writes <run_dir>/metrics.csv: columns "step", "epoch", then the metrics in the order in which they appeared.
///
/// Rows are appended. A new name rewrites the file once, with empty cells in older rows, under a temporary name that
/// replaces the file. One row is held back, so that metrics of the same step and epoch with other names share it; it is
/// written with the next other row, by flush(), or at the end. Values are the shortest text that reads back exactly;
/// "nan", "inf" and "-inf" for what is not finite. Names are quoted as in RFC 4180 where they need it.
///
/// In a folder that has a metrics.csv, the file is continued; a last line that a kill has torn is dropped.
/// Owns the file from open() to its end. Errors, beside those of Logger: ConfigError if a metric is called "step" or
/// "epoch"; OutputError if the file is no such log. After an OutputError the file holds whole rows only.
class CSVLogger final : public Logger {
 public:
  struct Options {
    void visit(OptionVisitor& /*visitor*/) {}
  };

  CSVLogger() = default;
  explicit CSVLogger(const Options& /*options*/) {}
  ~CSVLogger() override;
  CSVLogger(const CSVLogger&) = delete;
  CSVLogger& operator=(const CSVLogger&) = delete;

  void open(const std::filesystem::path& run_dir) override;
  void log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) override;
  void flush() override;

  /// Drops the rows of `first_step` and later. For a run that continues from a checkpoint and does these steps again.
  /// Errors: OutputError.
  void drop_rows_from(int64_t first_step);

 private:
  struct Row {
    int64_t step = 0;
    int64_t epoch = 0;
    Metrics metrics;
  };

  bool joins_pending(const Metrics& metrics, int64_t step, int64_t epoch) const;
  void write_pending();
  std::string format_row(const Row& row) const;
  void add_columns(const Metrics& metrics);
  void append(std::string_view text);
  void rewrite(const std::string& text);
  std::string read_all() const;
  void close() noexcept;
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path path_;
  int fd_ = -1;
  int64_t size_ = 0;  // bytes of the whole rows in the file
  std::vector<std::string> columns_;
  std::optional<Row> pending_;
};

}  // namespace levin
