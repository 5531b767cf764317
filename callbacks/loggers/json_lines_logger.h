#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "callbacks/loggers/log_file.h"
#include "callbacks/loggers/logger.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Writes <run_dir>/metrics.jsonl: a line per row, a JSON object (RFC 8259) with the row's own metrics:
/// {"step":49,"epoch":0,"train_loss":0.25}
///
/// Values are the shortest text that reads back exactly. JSON has no number for what is not finite; it becomes the text
/// "NaN", "Infinity" or "-Infinity", as in the JSON form of Protocol Buffers, which float() of Python and Number() of
/// JavaScript read. Bytes of a name that are not UTF-8 become U+FFFD.
///
/// Append-only. In a folder that has a metrics.jsonl, the file is continued; a last line that a kill has torn is
/// dropped. load_state() drops the lines after state(); a log that is shorter, as after a power cut, is continued as it
/// stands. Errors, beside those of Logger: ConfigError if a metric is called "step" or "epoch"; OutputError if the file
/// is no such log. After an OutputError the file holds whole lines only.
class JSONLinesLogger final : public Logger {
 public:
  struct Options {
    /// How long a row may wait in memory, where a kill of the process loses it; 0: not at all.
    double flush_seconds = 10;
    void visit(OptionVisitor& visitor) {
      visitor.field("flush_seconds", flush_seconds, "how long rows may wait in memory; 0: not at all", at_least(0));
    }
  };

  JSONLinesLogger() : JSONLinesLogger(Options{}) {}
  explicit JSONLinesLogger(const Options& options) : file_("JSONLinesLogger", options.flush_seconds) {}

  void open(const std::filesystem::path& run_dir) override;
  void log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) override;
  void flush() override { file_.flush(); }
  /// "bytes".
  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  const std::string& key_of(const std::string& name);

  LogFile file_;
  std::vector<std::pair<std::string, std::string>> keys_;  // name -> ,"name":
  size_t next_key_ = 0;
};

}  // namespace levin
