#include "trainer/assemble.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "callbacks/loggers/csv_logger.h"
#include "callbacks/model_checkpoint.h"
#include "callbacks/model_summary.h"
#include "callbacks/profiler/memory_profiler.h"
#include "callbacks/profiler/profiler_list.h"
#include "callbacks/profiler/simple_profiler.h"
#include "callbacks/profiler/trace_profiler.h"
#include "callbacks/progress_bar.h"
#include "strategies/single_device.h"
#include "trainer/core/error.h"
#include "trainer/precision/true_precision.h"

namespace levin {
namespace {

int64_t num_cuda_devices() { return at::detail::getCUDAHooks().deviceCount(); }

at::Device choose_device(const TrainerOptions& options) {
  const std::string accelerator = options.gpus > 0 ? "cuda" : options.accelerator;
  if (accelerator == "cpu") return at::Device(at::kCPU);
  const int64_t available = num_cuda_devices();
  if (accelerator == "auto" && available == 0) return at::Device(at::kCPU);
  const int64_t wanted = std::max(options.devices, options.gpus);
  if (available < wanted) {
    throw ConfigError(
        fmt::format("[Trainer] {} {} asked for, but this build on this machine has {}. Set "
                    "accelerator to \"cpu\", or see `levin env`.",
                    wanted, wanted == 1 ? "CUDA device is" : "CUDA devices are", available));
  }
  return at::Device(at::kCUDA, 0);
}

std::shared_ptr<Precision> make_precision(const std::string& name) {
  if (name == "32-true") return std::make_shared<TruePrecision>(at::kFloat);
  if (name == "64-true") return std::make_shared<TruePrecision>(at::kDouble);
  throw InternalError(fmt::format("[assemble] no precision \"{}\".", name));
}

template <class T>
bool has_callback(const TrainerParts& parts) {
  return std::any_of(parts.callbacks.begin(), parts.callbacks.end(),
                     [](const auto& callback) { return dynamic_cast<const T*>(callback.get()) != nullptr; });
}

template <class T>
void add_default(TrainerParts& parts, bool is_enabled) {
  if (is_enabled && !has_callback<T>(parts)) parts.callbacks.push_back(std::make_shared<T>());
}

template <class T>
void remove_callbacks(TrainerParts& parts) {
  std::erase_if(parts.callbacks,
                [](const auto& callback) { return dynamic_cast<const T*>(callback.get()) != nullptr; });
}

/// A trial or a bare run keeps no files, whatever callbacks and loggers it was given.
void remove_unwanted(const TrainerOptions& options, TrainerParts& parts) {
  if (options.fast_dev_run == 0 && !options.barebones) return;
  parts.loggers.clear();
  remove_callbacks<ModelCheckpoint>(parts);
  if (!options.barebones) return;
  remove_callbacks<ModelSummary>(parts);
  remove_callbacks<ProgressBar>(parts);
}

std::shared_ptr<Profiler> make_profiler(const std::string& name) {
  if (name == "simple") return std::make_shared<SimpleProfiler>();
  if (name == "memory") return std::make_shared<MemoryProfiler>();
  if (name == "trace") return std::make_shared<TraceProfiler>();
  throw InternalError(fmt::format("[assemble] no profiler \"{}\".", name));
}

void add_profiler(const TrainerOptions& options, TrainerParts& parts) {
  if (options.profiler.empty()) return;
  std::shared_ptr<Profiler> named = make_profiler(options.profiler);
  if (!parts.profiler) {
    parts.profiler = std::move(named);
  } else {
    parts.profiler = std::make_shared<ProfilerList>(std::vector{std::move(named), parts.profiler});
  }
}

}  // namespace

void check_parts(const TrainerOptions& options, const TrainerParts& parts) {
  std::vector<std::string> problems = find_problems(options);
  if (!options.enable_checkpointing && has_callback<ModelCheckpoint>(parts)) {
    problems.emplace_back("enable_checkpointing is false, but there is a ModelCheckpoint callback");
  }
  if (!options.enable_progress_bar && has_callback<ProgressBar>(parts)) {
    problems.emplace_back("enable_progress_bar is false, but there is a ProgressBar callback");
  }
  if (!options.logger && !parts.loggers.empty()) problems.emplace_back("logger is false, but there are loggers");
  const auto is_null = [](const auto& part) { return part == nullptr; };
  if (std::any_of(parts.callbacks.begin(), parts.callbacks.end(), is_null) ||
      std::any_of(parts.loggers.begin(), parts.loggers.end(), is_null)) {
    problems.emplace_back("a callback or logger is null");
  }
  if (options.barebones && parts.profiler) problems.emplace_back("barebones goes without a profiler");
  if (parts.scheduler && !parts.optimizer)
    problems.emplace_back("there is a scheduler, but no optimizer that it is for");
  if (!problems.empty()) throw ConfigError(fmt::format("[Trainer] {}.", fmt::join(problems, "; ")));
}

TrainerParts assemble(const TrainerOptions& options, TrainerParts parts) {
  remove_unwanted(options, parts);
  add_profiler(options, parts);
  if (!parts.strategy) parts.strategy = std::make_shared<SingleDeviceStrategy>(choose_device(options));
  if (!parts.precision) parts.precision = make_precision(options.precision);
  add_default<ModelSummary>(parts, options.enable_model_summary);
  add_default<ProgressBar>(parts, options.enable_progress_bar);
  add_default<ModelCheckpoint>(parts, options.enable_checkpointing);
  if (options.logger && parts.loggers.empty()) parts.loggers.push_back(std::make_shared<CSVLogger>());
  return parts;
}

}  // namespace levin
