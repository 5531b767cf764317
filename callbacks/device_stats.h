#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <optional>

#include "callbacks/callback.h"
#include "callbacks/clock.h"
#include "callbacks/device_memory.h"
#include "callbacks/host_usage.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Logs what a run uses of its device and of the machine, on logging steps.
///
/// On a GPU, of LibTorch's allocator, with peaks and counts since the process started:
/// - `device/allocated_bytes`, `device/reserved_bytes`, `device/peak_allocated_bytes`, `device/peak_reserved_bytes`
/// - `device/alloc_retries`, `device/ooms`
///
/// On the CPU, and with `cpu` on a GPU too, of this process:
/// - `host/resident_bytes`: memory in RAM
/// - `host/cpu_percent`: processor time since the last row, or the start of the training; 100 is one core
/// - `host/available_bytes`: memory that it can still take, of the machine or as the limits of its control groups say
/// - `host/threads`
///
/// Of several ranks, the value of the one that is worst off: the largest, of available_bytes the smallest (collective).
/// A value that the system does not tell is left out. It does not wait for the device, and does nothing between two
/// logging steps.
class DeviceStats final : public Callback {
 public:
  struct Options {
    /// Log the values of the host beside those of a GPU.
    bool cpu = false;

    void visit(OptionVisitor& visitor);
  };
  /// What it learns from outside; tests put their own in its place.
  struct Sources {
    ReadText read_text = read_text_file;
    ClockFunction now_s = steady_now_s;
    std::function<double()> cpu_seconds = process_cpu_seconds;
    std::function<std::optional<DeviceMemory>(at::Device)> memory_of = device_memory;
  };

  DeviceStats() : DeviceStats(Options{}) {}
  explicit DeviceStats(const Options& options) : DeviceStats(options, Sources{}) {}
  DeviceStats(const Options& options, Sources sources);

  void on_train_start(const RunContext& run) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;

 private:
  /// Processor time of this process at a time.
  struct Moment {
    double seconds = 0.0;
    double cpu_seconds = 0.0;
  };

  Moment now() const { return {sources_.now_s(), sources_.cpu_seconds()}; }
  std::optional<double> take_cpu_percent();

  Options options_;
  Sources sources_;
  at::Device device_ = at::kCPU;
  Moment last_;  // row, or start of the training
};

}  // namespace levin
