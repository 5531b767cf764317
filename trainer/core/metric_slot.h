#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "trainer/core/log_options.h"
#include "trainer/core/state_dict.h"

namespace levin {

class ScalarMetric;

/// The sum (kMean, kSum) or extreme of `sum` and one more value. NaN stays visible, in extremes too.
double combine_unweighted(Reduce reduce, double sum, double value);

/// What MetricStore keeps of one name.
struct MetricSlot {
  /// Keeps a value of the step, and adds it to the epoch. `weight` >= 0.
  void add(double new_value, double new_weight, int64_t step) {
    last_step = step;
    last_weight = new_weight;
    value = new_value;
    is_value_on_device = false;
    if (!on_epoch) return;
    weight += new_weight;
    if (new_weight > 0.0) {
      sum = reduce == Reduce::kMean ? sum + new_value * new_weight : combine_unweighted(reduce, sum, new_value);
    }
  }
  /// The same on the tensor's device, without synchronising it.
  void add(const at::Tensor& new_value, double new_weight, int64_t step);
  /// The value of the last step. Synchronises the device.
  double last_value() const;
  /// `sum` over host and device. Synchronises the device.
  double total() const;
  /// Forgets the epoch. Resets the metric and forgets it.
  void reset_epoch();
  /// Forgets the epoch, and leaves the metric as it is.
  void forget_epoch();
  /// The reduction for a total and its weight > 0.
  double epoch_value(double total_sum, double total_weight) const {
    return reduce == Reduce::kMean ? total_sum / total_weight : total_sum;
  }
  bool is_extreme() const { return reduce == Reduce::kMin || reduce == Reduce::kMax; }

  std::string name;
  std::string step_name;
  std::string epoch_name;
  bool on_step = false;
  bool on_epoch = false;
  Reduce reduce = Reduce::kMean;
  bool prog_bar = false;
  bool logger = true;
  bool is_metric = false;

  bool is_value_on_device = false;
  int64_t last_step = -1;
  double last_weight = 0.0;  // of the value of the last step
  double value = 0.0;        // of the last step, if it was on the host
  double sum = 0.0;          // of value * weight (kMean), of value (kSum), or the extreme
  double weight = 0.0;       // > 0 once a value has been seen; 1 for a metric that was logged
  at::Tensor device_value;   // as value, float64 on the device; the buffer stays
  at::Tensor device_sum;     // as sum, float64 on the device

  ScalarMetric* metric = nullptr;   // unset until it is logged in the epoch
  std::optional<StateDict> loaded;  // what the metric had seen, until it is logged again
};

/// Adds to `slot` what one part of step `step` has logged, whose slot has the same options: the values of the parts
/// become one value of the step, reduced as those of an epoch are. Does not synchronise the device.
void add_part(MetricSlot& slot, const MetricSlot& part, int64_t step);

/// A slot without values, with the names that loggers see.
MetricSlot make_metric_slot(std::string name, bool on_step, bool on_epoch, const LogOptions& options, bool is_metric);

}  // namespace levin
