#include "callbacks/loggers/tensorboard_logger.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <exception>
#include <optional>

#include "callbacks/loggers/event.h"
#include "callbacks/loggers/event_record.h"
#include "callbacks/loggers/histogram.h"
#include "callbacks/loggers/metric_names.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// TensorBoard reads the files of a folder in the order of their names, so a new one must come behind the others, even
// within a second of them or where the clock of another machine is ahead.
int64_t seconds_of_new_file(const fs::path& dir) {
  int64_t seconds = static_cast<int64_t>(now());
  std::error_code ignored;
  for (const auto& item : fs::directory_iterator(dir, ignored)) {
    const std::string name = item.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    int64_t others = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), others);
    seconds = std::max(seconds, others + 1);
  }
  return seconds;
}

std::string new_file_name(const fs::path& dir) {
  static std::atomic<int> counter = 0;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host = {"localhost"};
  return fmt::format("{}{:010}.{}.{}.{}", kPrefix, seconds_of_new_file(dir), host.data(), ::getpid(), counter++);
}

}  // namespace

TensorBoardLogger::TensorBoardLogger(const Options& options)
    : file_("TensorBoardLogger", options.flush_seconds), exceptions_(std::uncaught_exceptions()) {}

TensorBoardLogger::~TensorBoardLogger() {
  try {
    end_session();
  } catch (const std::exception&) {
    // Nobody is left to tell; a caller who must know calls flush().
  }
}

void TensorBoardLogger::open(const fs::path& run_dir) {
  end_session();
  file_.close();
  dir_ = run_dir;
  name_ = new_file_name(dir_);
  next_step_ = 0;
  last_epoch_ = {-1, -1};
  purges_ = false;
}

void TensorBoardLogger::log_metrics(const Metrics& metrics, int64_t step, int64_t epoch) {
  check_open("log_metrics");
  if (metrics.empty()) return;
  check_metric_names(metrics, "TensorBoardLogger", "scalar");
  const std::pair row_epoch{step, epoch};
  const bool is_new = row_epoch != last_epoch_;
  append(event::scalars(now(), step, metrics, is_new ? std::optional(epoch) : std::nullopt), step);
  last_epoch_ = row_epoch;
}

void TensorBoardLogger::log_batch_metrics(const Metrics& metrics, const EvaluationBatch& batch) {
  check_open("log_batch_metrics");
  if (metrics.empty()) return;
  check_metric_names(metrics, "TensorBoardLogger", "scalar");
  // Not append(): next_step_ is on the axis of optimizer steps.
  append_record_of(event::scalars(now(), batch.total_batches + batch.batch_idx, metrics, std::nullopt));
}

void TensorBoardLogger::log_hyperparameters(const Hyperparameters& hyperparameters) {
  check_open("log_hyperparameters");
  append_record_of(event::hparams_start(now(), hyperparameters));
  has_hyperparameters_ = true;
}

void TensorBoardLogger::log_text(std::string_view name, std::string_view text, int64_t step) {
  check_open("log_text");
  append(event::text(now(), step, name, text), step);
}

void TensorBoardLogger::log_histogram(std::string_view name, const at::Tensor& values, int64_t step) {
  check_open("log_histogram");
  if (values.is_complex()) {
    throw ModelError(fmt::format("[TensorBoardLogger] The values of the histogram \"{}\" must be real, got {}.", name,
                                 c10::toString(values.scalar_type())));
  }
  append(event::histogram(now(), step, name, make_histogram(values)), step);
}

void TensorBoardLogger::log_image(std::string_view name, const at::Tensor& image, int64_t step) {
  check_open("log_image");
  append(event::image(now(), step, name, image), step);
}

void TensorBoardLogger::append(std::string_view event, int64_t step) {
  append_record_of(event);
  next_step_ = std::max(next_step_, step + 1);
}

void TensorBoardLogger::append_record_of(std::string_view event) {
  if (!file_.is_open()) file_.open(dir_ / name_);
  if (file_.size() == 0) begin_file();
  record_.clear();
  append_record(record_, event);
  file_.append(record_);
}

void TensorBoardLogger::begin_file() {
  record_.clear();
  append_record(record_, event::file_version(now()));
  if (purges_) append_record(record_, event::session_start(now(), next_step_));
  file_.append(record_);
}

void TensorBoardLogger::end_session() {
  if (!has_hyperparameters_) return;
  has_hyperparameters_ = false;
  append_record_of(event::hparams_end(now(), std::uncaught_exceptions() <= exceptions_));
  file_.flush();
}

StateDict TensorBoardLogger::state() const {
  StateDict state;
  state.set("file", name_);
  state.set("bytes", file_.is_open() ? file_.size() : 0);
  state.set("next_step", next_step_);
  state.set("epoch_step", last_epoch_.first);
  state.set("epoch", last_epoch_.second);
  state.set("has_hyperparameters", int64_t{has_hyperparameters_});
  return state;
}

void TensorBoardLogger::load_state(const StateDict& state) {
  check_open("load_state");
  const std::string& name = state.text("file");
  const int64_t bytes = state.integer("bytes");
  // The file will be cut: nothing but an event file of this folder may be.
  if (!name.starts_with(kPrefix) || name.find('/') != std::string::npos || bytes < 0) {
    throw OutputError(fmt::format(
        "[TensorBoardLogger] The checkpoint is of {} bytes of \"{}\", which is no event file of a run folder.", bytes,
        name));
  }
  next_step_ = state.integer("next_step");
  last_epoch_ = {state.integer("epoch_step"), state.integer("epoch")};
  has_hyperparameters_ = state.integer("has_hyperparameters") != 0;
  file_.flush();
  // All that this logger has written to another file came after the state.
  if (file_.is_open() && name != name_) {
    file_.close();
    std::error_code ignored;
    fs::remove(dir_ / name_, ignored);
  }
  std::error_code missing;
  const auto size = fs::file_size(dir_ / name, missing);
  if (missing || static_cast<int64_t>(size) < bytes) {
    file_.close();
    name_ = new_file_name(dir_);
    purges_ = true;
    has_hyperparameters_ = has_hyperparameters_ && !missing;
    return;
  }
  name_ = name;
  if (!file_.is_open()) file_.open(dir_ / name_);
  file_.truncate(bytes);
}

void TensorBoardLogger::check_open(const char* caller) const {
  if (dir_.empty()) throw InternalError(fmt::format("[TensorBoardLogger] {} was called before open.", caller));
}

}  // namespace levin
