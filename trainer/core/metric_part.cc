#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <c10/core/InferenceMode.h>

#include "trainer/core/metric_slot.h"

namespace levin {
namespace {

at::Tensor on_device(const MetricSlot& slot, at::Device device) {
  if (slot.is_value_on_device) return slot.device_value;
  return at::full({}, slot.value, at::TensorOptions().dtype(at::kDouble).device(device));
}

at::Tensor combine(Reduce reduce, const at::Tensor& value, const at::Tensor& part, double share) {
  switch (reduce) {
    case Reduce::kMean: return value.mul(1.0 - share).add(part, share);
    case Reduce::kSum: return value.add(part);
    case Reduce::kMin: return at::minimum(value, part);
    default: return at::maximum(value, part);
  }
}

double combine(Reduce reduce, double value, double part, double share) {
  return reduce == Reduce::kMean ? value * (1.0 - share) + part * share : combine_unweighted(reduce, value, part);
}

/// `share`: weight of the part in the mean of all parts so far.
void add_value(MetricSlot& slot, const MetricSlot& part, double share) {
  if (!slot.is_value_on_device && !part.is_value_on_device) {
    slot.value = combine(slot.reduce, slot.value, part.value, share);
    return;
  }
  const at::Device device = (part.is_value_on_device ? part : slot).device_value.device();
  slot.device_value = combine(slot.reduce, on_device(slot, device), on_device(part, device), share);
  slot.is_value_on_device = true;
}

void set_value(MetricSlot& slot, const MetricSlot& part) {
  slot.value = part.value;
  slot.is_value_on_device = part.is_value_on_device;
  if (part.is_value_on_device) slot.device_value = part.device_value.clone();
}

void add_epoch(MetricSlot& slot, const MetricSlot& part) {
  slot.weight += part.weight;
  if (part.weight > 0.0) slot.sum = combine_unweighted(slot.reduce, slot.sum, part.sum);
  if (!part.device_sum.defined()) return;
  const Reduce reduce = slot.reduce == Reduce::kMean ? Reduce::kSum : slot.reduce;
  slot.device_sum = slot.device_sum.defined()
                        ? combine(reduce, slot.device_sum.to(part.device_sum.device()), part.device_sum, 0.0)
                        : part.device_sum.clone();
}

}  // namespace

void add_part(MetricSlot& slot, const MetricSlot& part, int64_t step) {
  const c10::InferenceMode no_inference_mode(false);
  const at::NoGradGuard no_grad;
  if (slot.last_step == step) {
    const double total = slot.last_weight + part.last_weight;
    // Where no part has any weight, the last one counts.
    add_value(slot, part, total > 0.0 ? part.last_weight / total : 1.0);
    slot.last_weight = total;
  } else {
    set_value(slot, part);
    slot.last_weight = part.last_weight;
  }
  slot.last_step = step;
  if (slot.on_epoch) add_epoch(slot, part);
}

}  // namespace levin
