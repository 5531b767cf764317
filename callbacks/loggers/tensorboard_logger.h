#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "callbacks/loggers/log_file.h"
#include "callbacks/loggers/logger.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Writes an event file for TensorBoard into the run folder: events.out.tfevents.<seconds>.<host>.<pid>.<number>.
///
/// Scalars: every metric under its name, as float, and `epoch`, once a step. Histograms: 30 buckets of equal width over
/// the finite values. Text is shown as Markdown. Images are PNG; values beyond [0, 1] are clamped. Hyperparameters
/// appear in the HPARAMS tab beside the metrics; the run is over there when the logger ends: a success, unless an
/// exception ends it. Bytes of a text that are not UTF-8 become U+FFFD.
///
/// The file is made with the first event. A new logger in the folder makes a file of its own, and TensorBoard reads
/// all. load_state() goes on with the file of state(), cut where it was then; if the file is gone or shorter, with a
/// new one that tells TensorBoard to drop the later steps of the others. Errors, beside those of Logger: ConfigError if
/// a metric is called "step" or "epoch"; ModelError if an image or the values of a histogram are not as Logger says.
class TensorBoardLogger final : public Logger {
 public:
  struct Options {
    /// How long an event may wait in memory, where a kill of the process loses it; 0: not at all.
    double flush_seconds = 10;
    void visit(OptionVisitor& visitor) {
      visitor.field("flush_seconds", flush_seconds, "how long events may wait in memory; 0: not at all", at_least(0));
    }
  };

  TensorBoardLogger() : TensorBoardLogger(Options{}) {}
  explicit TensorBoardLogger(const Options& options);
  ~TensorBoardLogger() override;
  TensorBoardLogger(const TensorBoardLogger&) = delete;
  TensorBoardLogger& operator=(const TensorBoardLogger&) = delete;

  void open(const std::filesystem::path& run_dir) override;
  void log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) override;
  /// The step axis of these counts the batches of the stage in the run.
  void log_batch_metrics(const Metrics& metrics, const EvaluationBatch& batch) override;
  void log_hyperparameters(const Hyperparameters& hyperparameters) override;
  void log_text(std::string_view name, std::string_view text, int64_t step) override;
  void log_histogram(std::string_view name, const at::Tensor& values, int64_t step) override;
  void log_image(std::string_view name, const at::Tensor& image, int64_t step) override;
  void flush() override { file_.flush(); }
  /// "file", its name; "bytes"; "next_step", behind the last step logged; "epoch_step" and "epoch", the last scalar
  /// `epoch`; "has_hyperparameters", 0 or 1.
  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  void append(std::string_view event, int64_t step);
  void append_record_of(std::string_view event);
  void begin_file();
  void end_session();
  void check_open(const char* caller) const;

  std::filesystem::path dir_;
  std::string name_;  // of the file, which may not be there yet
  LogFile file_;
  std::string record_;
  int64_t next_step_ = 0;
  std::pair<int64_t, int64_t> last_epoch_{-1, -1};  // step and value of the last scalar `epoch`
  bool purges_ = false;  // the file begins by dropping the steps from next_step_ on in the others
  bool has_hyperparameters_ = false;
  int exceptions_;  // in flight when the logger was made
};

}  // namespace levin
