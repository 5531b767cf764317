#include "callbacks/profiler/trace_profiler.h"

#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <set>
#include <vector>

#include "callbacks/check_options.h"
#include "callbacks/profiler/cuda_devices.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace kineto = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// A user annotation from here until it is destroyed.
std::unique_ptr<at::RecordFunction> annotate(const std::string& name) {
  auto function = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
  if (function->isActive()) function->before(name);
  return function;
}

double sum_of_flops(const kineto::ProfilerResult& result) {
  double sum = 0;
  for (const kineto::KinetoEvent& event : result.events()) sum += static_cast<double>(event.flops());
  return sum;
}

}  // namespace

// LibTorch's recorder, and the annotations that are open.
class TraceProfiler::Recorder {
 public:
  explicit Recorder(const Options& options)
      : config_(ProfilerState::KINETO, options.record_shapes, options.with_memory, /*with_stack=*/false,
                options.with_flops) {}
  ~Recorder() {
    if (is_recording_) stop();
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  bool is_recording() const { return is_recording_; }

  // Loads what records, which takes time. Safe to do again.
  void prepare() {
    if (is_prepared_) return;
    if (torch::profiler::impl::profilerEnabled()) {
      throw ConfigError(
          "[TraceProfiler] LibTorch's profiler is on already, and there can be one only. "
          "End the other one before the fit, or set profiler to \"\".");
    }
    activities_ = {ActivityType::CPU};
    if (!used_cuda_devices().empty()) activities_.insert(ActivityType::CUDA);
    kineto::prepareProfiler(config_, activities_);
    is_prepared_ = true;
  }
  void start() {
    prepare();
    kineto::enableProfiler(config_, activities_);
    is_recording_ = true;
  }
  // The device's work must be done, so that its end is in the trace.
  std::unique_ptr<kineto::ProfilerResult> stop() {
    sections_.clear();
    batch_.reset();
    is_recording_ = false;
    return kineto::disableProfiler();
  }

  void begin(Section section) {
    sections_.push_back(is_recording_ ? annotate(std::string(section_name(section))) : nullptr);
  }
  void end() {
    if (!sections_.empty()) sections_.pop_back();
  }
  void begin_batch(int64_t number) {
    batch_.reset();
    batch_ = annotate(fmt::format("ProfilerStep#{}", number));
  }

 private:
  ProfilerConfig config_;
  std::set<ActivityType> activities_;
  bool is_prepared_ = false;
  bool is_recording_ = false;
  std::unique_ptr<at::RecordFunction> batch_;
  std::vector<std::unique_ptr<at::RecordFunction>> sections_;  // nullptr: began before the recording
};

void TraceProfiler::Options::visit(OptionVisitor& visitor) {
  visitor.field("skip_batches", skip_batches, "batches before the recording", at_least(0));
  visitor.field("active_batches", active_batches, "batches that are recorded", at_least(1));
  visitor.field("record_shapes", record_shapes, "record the shapes of the operators' inputs");
  visitor.field("with_memory", with_memory, "record allocations");
  visitor.field("with_flops", with_flops, "report the floating-point operations of a batch");
}

TraceProfiler::TraceProfiler() : TraceProfiler(Options{}) {}

TraceProfiler::TraceProfiler(const Options& options) : options_(options) { check_options("TraceProfiler", options); }

TraceProfiler::~TraceProfiler() = default;

void TraceProfiler::start(const std::filesystem::path& run_dir) {
  recorder_.reset();
  num_batches_ = num_traced_ = 0;
  has_trace_ = false;
  path_ = run_dir.empty() ? std::filesystem::path() : run_dir / "trace.json";
  if (path_.empty()) return;
  recorder_ = std::make_unique<Recorder>(options_);
  advance();
}

void TraceProfiler::begin(Section section) {
  if (recorder_) recorder_->begin(section);
}

void TraceProfiler::end(Section /*section*/) {
  if (recorder_) recorder_->end();
}

void TraceProfiler::end_batch() {
  ++num_batches_;
  if (recorder_) advance();
}

// Between two batches: what does the next one need?
void TraceProfiler::advance() {
  if (recorder_->is_recording()) ++num_traced_;
  if (num_traced_ == options_.active_batches) return write_trace();
  if (num_batches_ + 1 == options_.skip_batches) recorder_->prepare();
  if (num_batches_ == options_.skip_batches) recorder_->start();
  if (recorder_->is_recording()) recorder_->begin_batch(num_batches_);
}

// LibTorch's save() reports a failure to its own log only, so the file tells.
void TraceProfiler::write_trace() {
  synchronize_cuda_devices();
  const auto recorder = std::move(recorder_);
  const std::unique_ptr<kineto::ProfilerResult> result = recorder->stop();
  std::error_code error;
  std::filesystem::remove(path_, error);
  result->save(path_.string());
  if (!std::filesystem::is_regular_file(path_, error)) {
    throw OutputError(
        fmt::format("[TraceProfiler] Cannot write {}. Is the folder there, and the disk not full?", path_.string()));
  }
  has_trace_ = true;
  flops_ = sum_of_flops(*result);
}

void TraceProfiler::stop() {
  if (recorder_ && recorder_->is_recording()) write_trace();
  recorder_.reset();
}

std::string TraceProfiler::report() const {
  if (path_.empty()) return "Trace: none, since this run keeps no files.\n";
  if (has_trace_) {
    const std::string cut =
        num_traced_ < options_.active_batches
            ? fmt::format(" (the fit ended before the {} of active_batches)", options_.active_batches)
            : "";
    std::string text = fmt::format("Trace of {} batches from batch {}{}: {}\nOpen it at https://ui.perfetto.dev.\n",
                                   num_traced_, options_.skip_batches, cut, path_.string());
    if (options_.with_flops && num_traced_ > 0) {
      text += fmt::format("Operators that LibTorch has a formula for did {:.3g} GFLOP a batch.\n",
                          flops_ * 1e-9 / static_cast<double>(num_traced_));
    }
    return text;
  }
  return fmt::format(
      "Trace: none, since the fit had {} batches and skip_batches is {}. Lower skip_batches, or train for longer.\n",
      num_batches_, options_.skip_batches);
}

}  // namespace levin
