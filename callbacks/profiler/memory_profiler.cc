#include "callbacks/profiler/memory_profiler.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <vector>

#include "callbacks/profiler/report_file.h"
#include "callbacks/profiler/section_tally.h"
#include "callbacks/profiler/text_table.h"

namespace levin {
namespace {

constexpr size_t kNumPlaces = kNumSections + 1;  // the last is in no section

struct Peak {
  int64_t bytes = 0;
  int64_t batch = 0;  // in which it was reached
  bool is_seen = false;
};

/// One device.
struct Usage {
  int64_t bytes = 0;
  std::array<Peak, kNumPlaces> peaks = {};
};

std::string mebibytes(int64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / (1024.0 * 1024.0)); }

}  // namespace

class MemoryProfiler::Recorder final : public c10::MemoryReportingInfoBase {
 public:
  bool memoryProfilingEnabled() const override { return true; }

  // From any thread that works for the training.
  void reportMemoryUsage(void* /*ptr*/, int64_t alloc_size, size_t total_allocated, size_t /*total_reserved*/,
                         c10::Device device) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    Usage& usage = devices_[device.str()];
    usage.bytes = device.is_cpu() ? usage.bytes + alloc_size : static_cast<int64_t>(total_allocated);
    note(usage);
  }

  void enter(size_t place) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.push_back(place);
    // What is held when a section begins counts for it, too.
    for (auto& [device, usage] : devices_) note(usage);
  }
  void leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!open_.empty()) open_.pop_back();
  }
  void end_batch() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++batch_;
  }

  std::string report() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (devices_.empty()) return "Memory: nothing was allocated.\n";
    std::string text;
    for (const auto& [device, usage] : devices_) {
      if (!text.empty()) text += "\n";
      text += format_device(device, usage);
    }
    return text;
  }

 private:
  void note(Usage& usage) {
    Peak& peak = usage.peaks[open_.empty() ? kLoop : open_.back()];
    if (peak.is_seen && usage.bytes <= peak.bytes) return;
    peak = {.bytes = usage.bytes, .batch = batch_, .is_seen = true};
  }

  static std::string format_device(const std::string& device, const Usage& usage) {
    std::vector<size_t> order;
    for (size_t i = 0; i < kNumPlaces; ++i) {
      if (usage.peaks[i].is_seen) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return usage.peaks[a].bytes > usage.peaks[b].bytes; });
    std::vector<std::vector<std::string>> rows = {{"section", "peak MiB", "in batch"}};
    for (const size_t i : order) {
      rows.push_back({std::string(name_of(static_cast<int>(i))), mebibytes(usage.peaks[i].bytes),
                      fmt::format("{}", usage.peaks[i].batch)});
    }
    const bool is_cpu = device.starts_with("cpu");
    return fmt::format("Memory of tensors on {}{}\n\n", device, is_cpu ? ", beyond what was there at the start" : "") +
           format_table(rows);
  }

  std::mutex mutex_;
  std::vector<size_t> open_;
  int64_t batch_ = 0;
  std::map<std::string, Usage> devices_;
};

class MemoryProfiler::Guard {
 public:
  explicit Guard(const std::shared_ptr<Recorder>& recorder)
      : guard_(c10::DebugInfoKind::PROFILER_STATE, std::static_pointer_cast<c10::DebugInfoBase>(recorder)) {}

 private:
  c10::DebugInfoGuard guard_;
};

MemoryProfiler::MemoryProfiler() = default;
MemoryProfiler::~MemoryProfiler() = default;

void MemoryProfiler::start(const std::filesystem::path& run_dir) {
  guard_.reset();
  run_dir_ = run_dir;
  report_.clear();
  recorder_ = std::make_shared<Recorder>();
  guard_ = std::make_unique<Guard>(recorder_);
}

void MemoryProfiler::stop() {
  if (!guard_) return;
  guard_.reset();
  report_ = recorder_->report();
  recorder_.reset();
  if (!run_dir_.empty()) write_report("MemoryProfiler", run_dir_ / "memory.txt", report_);
}

void MemoryProfiler::begin(Section section) {
  if (recorder_) recorder_->enter(static_cast<size_t>(section));
}

void MemoryProfiler::end(Section /*section*/) {
  if (recorder_) recorder_->leave();
}

void MemoryProfiler::end_batch() {
  if (recorder_) recorder_->end_batch();
}

}  // namespace levin
