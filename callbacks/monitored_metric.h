#pragma once

#include <optional>
#include <string>

#include "callbacks/run_context.h"

namespace levin {

/// The metric that a callback watches: its value, agreed by all ranks, and whether it comes from training or from
/// validation, so that an old value is never taken for new weights.
class MonitoredMetric {
 public:
  struct Observation {
    std::optional<double> value = std::nullopt;  ///< That of rank 0, NaN included; nullopt: none yet.
    bool is_of_stage = false;                    ///< The stage that runs now has logged it.
  };

  /// owner: the callback, for errors. name: as in RunContext::metrics.
  MonitoredMetric(std::string owner, std::string name) : owner_(std::move(owner)), name_(std::move(name)) {}

  /// To be called when the training starts, when a validation starts (on_validation_start) and when it has ended.
  void start_training();
  void start_validation(const RunContext& run);
  /// The value after the validation (collective).
  Observation end_validation(const RunContext& run);

  /// The newest value (collective).
  Observation observe(const RunContext& run) const;
  /// True once a validation has logged it. Part of the saved state of the callback.
  bool is_of_validation() const { return is_of_validation_; }
  void set_of_validation(bool is_of_validation) { is_of_validation_ = is_of_validation; }
  /// True if a validation has ended at this global_step of this fit, so that its values are those of these weights.
  bool is_validated_at(int64_t global_step) const { return validated_step_ == global_step; }
  /// To be called when an epoch ends. Errors: ConfigError if the metric is not there though training and (if there is
  /// one) validation have each had the chance to log it (collective).
  void check_is_logged(const RunContext& run) const;
  /// Throws that error.
  [[noreturn]] void throw_missing(const RunContext& run) const;

  const std::string& name() const { return name_; }

 private:
  std::string owner_;
  std::string name_;
  bool is_of_validation_ = false;
  bool was_there_before_ = false;  // when the validation started
  std::optional<int64_t> validated_step_ = std::nullopt;
};

}  // namespace levin
