#include "callbacks/device_stats.h"

#include <array>
#include <limits>
#include <utility>

#include "callbacks/check_options.h"
#include "callbacks/first_parameter.h"
#include "callbacks/rank_agreement.h"

namespace levin {
namespace {

struct Column {
  const char* name = nullptr;
  bool is_smallest_worst = false;
};

constexpr std::array<Column, 10> kColumns = {{{"device/allocated_bytes"},
                                              {"device/reserved_bytes"},
                                              {"device/peak_allocated_bytes"},
                                              {"device/peak_reserved_bytes"},
                                              {"device/alloc_retries"},
                                              {"device/ooms"},
                                              {"host/resident_bytes"},
                                              {"host/cpu_percent"},
                                              {"host/available_bytes", true},
                                              {"host/threads"}}};
constexpr size_t kFirstOfHost = 6;

// All ranks exchange all columns, so that one which cannot tell a value makes the same call as the others. What is
// missing loses against every value; the smallest is the largest of the negated values.
constexpr double kMissing = -std::numeric_limits<double>::infinity();
using Values = std::array<double, kColumns.size()>;

template <size_t N>
void place(Values& values, size_t first, const std::array<std::optional<double>, N>& own) {
  for (size_t i = 0; i < N; ++i) {
    if (own[i]) values[first + i] = kColumns[first + i].is_smallest_worst ? -*own[i] : *own[i];
  }
}

void place_memory(Values& values, const DeviceMemory& memory) {
  const auto real = [](int64_t value) { return std::optional(static_cast<double>(value)); };
  place<6>(values, 0,
           {real(memory.allocated_bytes), real(memory.reserved_bytes), real(memory.peak_allocated_bytes),
            real(memory.peak_reserved_bytes), real(memory.num_alloc_retries), real(memory.num_ooms)});
}

void log(const RunContext& run, const Values& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == kMissing) continue;
    run.control.log(kColumns[i].name, kColumns[i].is_smallest_worst ? -values[i] : values[i]);
  }
}

}  // namespace

void DeviceStats::Options::visit(OptionVisitor& visitor) {
  visitor.field("cpu", cpu, "log what the process uses of the host beside a GPU, too");
}

DeviceStats::DeviceStats(const Options& options, Sources sources) : options_(options), sources_(std::move(sources)) {
  check_options("DeviceStats", options_);
}

void DeviceStats::on_train_start(const RunContext& run) {
  const at::Tensor parameter = first_parameter(run.module);
  device_ = parameter.defined() ? parameter.device() : at::Device(at::kCPU);
  last_ = now();
}

void DeviceStats::on_train_batch_end(const RunContext& run, const StepOutput& /*output*/, const Batch& /*batch*/) {
  if (!run.is_logging_step) return;
  Values values;
  values.fill(kMissing);
  if (!device_.is_cpu()) {
    if (const std::optional<DeviceMemory> memory = sources_.memory_of(device_)) place_memory(values, *memory);
  }
  if (device_.is_cpu() || options_.cpu) {
    const HostUsage host = read_host_usage(sources_.read_text);
    place<4>(values, kFirstOfHost, {host.resident_bytes, take_cpu_percent(), host.available_bytes, host.threads});
  }
  max_over_ranks(run.communicator, values);
  log(run, values);
}

std::optional<double> DeviceStats::take_cpu_percent() {
  const Moment before = std::exchange(last_, now());
  const double seconds = last_.seconds - before.seconds;
  if (seconds <= 0.0) return std::nullopt;
  return 100.0 * (last_.cpu_seconds - before.cpu_seconds) / seconds;
}

}  // namespace levin
