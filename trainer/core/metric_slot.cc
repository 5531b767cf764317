#include "trainer/core/metric_slot.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <limits>

#include "trainer/core/metric.h"

namespace levin {
namespace {

double initial_sum(Reduce reduce) {
  if (reduce == Reduce::kMin) return std::numeric_limits<double>::infinity();
  if (reduce == Reduce::kMax) return -std::numeric_limits<double>::infinity();
  return 0.0;
}

void combine_on_device(Reduce reduce, at::Tensor& sum, const at::Tensor& value, double weight) {
  if (!sum.defined()) {
    sum = reduce == Reduce::kMean ? value.mul(weight) : value.clone();
    return;
  }
  // A loaded sum comes from a file, on the CPU.
  if (sum.device() != value.device()) sum = sum.to(value.device());
  switch (reduce) {
    case Reduce::kMean: sum.add_(value, weight); break;
    case Reduce::kSum: sum.add_(value); break;
    case Reduce::kMin: at::minimum_out(sum, sum, value); break;
    case Reduce::kMax: at::maximum_out(sum, sum, value); break;
  }
}

}  // namespace

double combine_unweighted(Reduce reduce, double sum, double value) {
  if (reduce == Reduce::kMean || reduce == Reduce::kSum) return sum + value;
  if (sum != sum || value != value) return std::numeric_limits<double>::quiet_NaN();
  return reduce == Reduce::kMin ? std::min(sum, value) : std::max(sum, value);
}

void MetricSlot::add(const at::Tensor& new_value, double new_weight, int64_t step) {
  // The buffers outlive the step, so they must be neither part of a graph nor inference tensors.
  const c10::InferenceMode no_inference_mode(false);
  const at::NoGradGuard no_grad;
  if (!device_value.defined() || device_value.device() != new_value.device()) {
    device_value = at::empty({}, new_value.options().dtype(at::kDouble).requires_grad(false));
  }
  device_value.copy_(new_value.dim() == 0 ? new_value : new_value.reshape({}), /*non_blocking=*/true);
  last_step = step;
  last_weight = new_weight;
  is_value_on_device = true;
  if (!on_epoch) return;
  weight += new_weight;
  if (new_weight > 0.0) combine_on_device(reduce, device_sum, device_value, new_weight);
}

double MetricSlot::last_value() const { return is_value_on_device ? device_value.item().toDouble() : value; }

double MetricSlot::total() const {
  // Both parts exist where some values of a name came from the host and some from a device.
  return device_sum.defined() ? combine_unweighted(reduce, sum, device_sum.item().toDouble()) : sum;
}

void MetricSlot::reset_epoch() {
  if (metric != nullptr) metric->reset();
  forget_epoch();
}

void MetricSlot::forget_epoch() {
  sum = initial_sum(reduce);
  weight = 0.0;
  device_sum.reset();
  metric = nullptr;
  loaded.reset();
}

MetricSlot make_metric_slot(std::string name, bool on_step, bool on_epoch, const LogOptions& options, bool is_metric) {
  MetricSlot slot;
  const bool both = on_step && on_epoch;
  slot.step_name = both ? name + "_step" : name;
  slot.epoch_name = both ? name + "_epoch" : name;
  slot.name = std::move(name);
  slot.on_step = on_step;
  slot.on_epoch = on_epoch;
  slot.reduce = options.reduce;
  slot.prog_bar = options.prog_bar;
  slot.logger = options.logger;
  slot.is_metric = is_metric;
  slot.sum = initial_sum(options.reduce);
  return slot;
}

}  // namespace levin
