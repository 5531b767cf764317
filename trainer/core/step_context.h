#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "trainer/core/batch.h"
#include "trainer/core/metric_store.h"
#include "trainer/core/metrics.h"
#include "trainer/core/trainer_state.h"

namespace levin {

class ManualOptimization;
class ScalarMetric;

/// What a step or hook knows about its place in the run, and where it logs. The loop builds one for each call; do not
/// keep it. A test builds one without a Trainer:
///
///   levin::MetricStore metrics(levin::Stage::kTrain);
///   levin::StepContext ctx(levin::Stage::kTrain, {}, batch, metrics);
class StepContext {
 public:
  /// The references must outlive the context.
  StepContext(Stage stage, const TrainerState& state, const Batch& batch, MetricStore& metrics,
              ManualOptimization* manual = nullptr)
      : stage_(stage), state_(state), batch_(&batch), metrics_(&metrics), manual_(manual) {}
  /// For a hook outside of a batch. metrics: nullptr where nothing can be logged.
  StepContext(Stage stage, const TrainerState& state, MetricStore* metrics)
      : stage_(stage), state_(state), metrics_(metrics) {}

  Stage stage() const { return stage_; }
  /// Current epoch, from 0.
  int64_t epoch() const { return state_.epoch; }
  /// Micro-batch within the epoch (of this stage), from 0.
  int64_t batch_idx() const { return state_.batch_idx; }
  /// Optimizer steps done.
  int64_t global_step() const { return state_.global_step; }

  /// Logs a value under `name`. A tensor has one element, any device; it is detached, and read only when it is needed.
  /// Errors: see MetricStore::log; ConfigError in a hook where nothing can be logged.
  void log(std::string_view name, const at::Tensor& value, const LogOptions& options = {}) {
    store(name).log(name, value, options, default_weight(options));
  }
  void log(std::string_view name, double value, const LogOptions& options = {}) {
    store(name).log(name, value, options, default_weight(options));
  }
  /// The value of a metric object over the whole epoch, computed at its end, when the object is also reset.
  void log(std::string_view name, ScalarMetric& metric, const LogOptions& options = {}) {
    store(name).log(name, metric, options);
  }
  /// Logs several values with the same options.
  void log_dict(const Metrics& values, const LogOptions& options = {}) {
    for (const auto& [name, value] : values) log(name, value, options);
  }

  /// Manual optimization, in training_step. Errors: ConfigError if automatic_optimization() is true.
  ManualOptimization& manual() const {
    if (manual_ == nullptr) refuse_manual();
    return *manual_;
  }

 private:
  MetricStore& store(std::string_view name) const {
    if (metrics_ == nullptr) refuse_log(name);
    return *metrics_;
  }
  double default_weight(const LogOptions& options) const {
    if (options.weight) return *options.weight;
    return batch_ != nullptr ? static_cast<double>(batch_->batch_size()) : 1.0;
  }
  [[noreturn]] void refuse_log(std::string_view name) const;
  [[noreturn]] void refuse_manual() const;

  Stage stage_;
  const TrainerState& state_;
  const Batch* batch_ = nullptr;
  MetricStore* metrics_;
  ManualOptimization* manual_ = nullptr;
};

}  // namespace levin
