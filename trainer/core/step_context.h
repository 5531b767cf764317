#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "trainer/core/batch.h"
#include "trainer/core/metric_store.h"
#include "trainer/core/trainer_state.h"

namespace levin {

/// What a step knows about its place in the run, and where it logs. The loop builds one for each call of training_step
/// and its siblings; do not keep it. A test builds one without a Trainer:
///
///   levin::MetricStore metrics(levin::Stage::kTrain);
///   levin::StepContext ctx(levin::Stage::kTrain, {}, batch, metrics);
class StepContext {
 public:
  /// The three references must outlive the context.
  StepContext(Stage stage, const TrainerState& state, const Batch& batch, MetricStore& metrics)
      : stage_(stage), state_(state), batch_(batch), metrics_(metrics) {}

  Stage stage() const { return stage_; }
  /// Current epoch, from 0.
  int64_t epoch() const { return state_.epoch; }
  /// Micro-batch within the epoch (of this stage), from 0.
  int64_t batch_idx() const { return state_.batch_idx; }
  /// Optimizer steps done.
  int64_t global_step() const { return state_.global_step; }

  /// Logs a value under `name`. A tensor has one element, any device; it is detached, and read only when it is needed.
  /// Errors: see MetricStore::log.
  void log(std::string_view name, const at::Tensor& value, const LogOptions& options = {}) {
    metrics_.log(name, value, options, default_weight(options));
  }
  void log(std::string_view name, double value, const LogOptions& options = {}) {
    metrics_.log(name, value, options, default_weight(options));
  }

 private:
  double default_weight(const LogOptions& options) const {
    return options.weight ? *options.weight : static_cast<double>(batch_.batch_size());
  }

  Stage stage_;
  const TrainerState& state_;
  const Batch& batch_;
  MetricStore& metrics_;
};

}  // namespace levin
