#include "trainer/core/metric_store.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

// item() goes through the dispatcher; the common cases are read directly.
double host_value(const at::Tensor& value) {
  if (value.scalar_type() == at::kFloat) return *value.const_data_ptr<float>();
  if (value.scalar_type() == at::kDouble) return *value.const_data_ptr<double>();
  return value.item().toDouble();
}

double initial_sum(Reduce reduce) {
  if (reduce == Reduce::kMin) return std::numeric_limits<double>::infinity();
  if (reduce == Reduce::kMax) return -std::numeric_limits<double>::infinity();
  return 0.0;
}

// NaN stays visible in a minimum or maximum, as it does in a mean.
double extreme(Reduce reduce, double a, double b) {
  if (a != a || b != b) return std::numeric_limits<double>::quiet_NaN();
  return reduce == Reduce::kMin ? std::min(a, b) : std::max(a, b);
}

double combine(Reduce reduce, double sum, double value, double weight) {
  switch (reduce) {
    case Reduce::kMean: return sum + value * weight;
    case Reduce::kSum: return sum + value;
    case Reduce::kMin:
    case Reduce::kMax: return extreme(reduce, sum, value);
  }
  return sum;
}

at::Tensor combine_on_device(Reduce reduce, const at::Tensor& sum, const at::Tensor& value, double weight) {
  const at::Tensor wide = value.to(at::kDouble);
  if (!sum.defined()) return reduce == Reduce::kMean ? wide.mul(weight) : wide.clone();
  switch (reduce) {
    case Reduce::kMean: return sum.add(wide, weight);
    case Reduce::kSum: return sum.add(wide);
    case Reduce::kMin: return at::minimum(sum, wide);
    case Reduce::kMax: return at::maximum(sum, wide);
  }
  return sum;
}

bool same_options(const LogOptions& a, const LogOptions& b) {
  return a.on_step == b.on_step && a.on_epoch == b.on_epoch && a.reduce == b.reduce && a.prog_bar == b.prog_bar &&
         a.logger == b.logger;
}

}  // namespace

MetricStore::Slot MetricStore::make_slot(std::string_view name, const LogOptions& options, bool is_metric) const {
  Slot slot;
  slot.name = name;
  slot.options = options;
  slot.is_metric = is_metric;
  slot.on_step = options.on_step.value_or(stage_ == Stage::kTrain);
  slot.on_epoch = options.on_epoch.value_or(stage_ != Stage::kTrain);
  if (!slot.on_step && !slot.on_epoch) {
    throw ConfigError(
        fmt::format("[log] \"{}\": on_step and on_epoch are both false, so nothing would be logged.", name));
  }
  const bool both = slot.on_step && slot.on_epoch;
  slot.step_name = both ? slot.name + "_step" : slot.name;
  slot.epoch_name = both ? slot.name + "_epoch" : slot.name;
  slot.sum = initial_sum(options.reduce);
  return slot;
}

MetricStore::Slot& MetricStore::slot(std::string_view name, const LogOptions& options, bool is_metric) {
  if (cursor_ >= slots_.size() || slots_[cursor_].name != name) {
    const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.name == name; });
    cursor_ = static_cast<size_t>(found - slots_.begin());
    if (found == slots_.end()) slots_.push_back(make_slot(name, options, is_metric));
  }
  Slot& slot = slots_[cursor_++];
  if (!same_options(slot.options, options)) {
    throw ConfigError(
        fmt::format("[log] \"{}\" was logged before with other options. Use the same on_step, on_epoch, reduce, "
                    "prog_bar and logger in every call, or another name.",
                    name));
  }
  return slot;
}

void MetricStore::log(std::string_view name, double value, const LogOptions& options, double default_weight) {
  Slot& target = slot(name, options, /*is_metric=*/false);
  target.last_step = step_;
  target.value = value;
  target.device_value.reset();
  if (!target.on_epoch) return;
  const double weight = options.weight.value_or(default_weight);
  target.weight += weight;
  if (weight > 0.0) target.sum = combine(options.reduce, target.sum, value, weight);
}

void MetricStore::log(std::string_view name, const at::Tensor& value, const LogOptions& options,
                      double default_weight) {
  if (!value.defined() || value.numel() != 1) {
    throw ModelError(
        fmt::format("[log] \"{}\" must be a tensor with one element, got {}.", name, describe_tensor(value)));
  }
  if (value.is_cpu()) return log(name, host_value(value), options, default_weight);

  Slot& target = slot(name, options, /*is_metric=*/false);
  const at::Tensor detached = value.detach().reshape({});
  target.last_step = step_;
  target.device_value = detached;
  if (!target.on_epoch) return;
  const double weight = options.weight.value_or(default_weight);
  target.weight += weight;
  if (weight > 0.0) target.device_sum = combine_on_device(options.reduce, target.device_sum, detached, weight);
}

double MetricStore::last_value(const Slot& slot) {
  return slot.device_value.defined() ? slot.device_value.item().toDouble() : slot.value;
}

double MetricStore::epoch_sum(const Slot& slot) {
  if (!slot.device_sum.defined()) return slot.sum;
  const double on_device = slot.device_sum.item().toDouble();
  // Both parts exist where some values of a name came from the host and some from a device.
  return slot.options.reduce == Reduce::kMean ? slot.sum + on_device
                                              : combine(slot.options.reduce, slot.sum, on_device, 1.0);
}

double MetricStore::epoch_value(Reduce reduce, double sum, double weight) {
  return reduce == Reduce::kMean ? sum / weight : sum;
}

Metrics MetricStore::step_metrics() const {
  Metrics result;
  for (const Slot& slot : slots_) {
    if (slot.on_step && slot.options.logger && slot.last_step == step_ - 1)
      result.set(slot.step_name, last_value(slot));
  }
  return result;
}

Metrics MetricStore::epoch_metrics(Communicator& communicator) {
  Metrics result;
  for (const Slot& slot : slots_) {
    if (!slot.on_epoch) continue;
    double sum = epoch_sum(slot);
    double weight = slot.weight;
    if (communicator.world_size() > 1) {
      // A rank without values takes part with the neutral element and weight 0.
      const ReduceOp op = slot.options.reduce == Reduce::kMin   ? ReduceOp::kMin
                          : slot.options.reduce == Reduce::kMax ? ReduceOp::kMax
                                                                : ReduceOp::kSum;
      at::Tensor sums = at::from_blob(&sum, {1}, at::kDouble);
      at::Tensor weights = at::from_blob(&weight, {1}, at::kDouble);
      communicator.all_reduce(sums, op);
      communicator.all_reduce(weights, ReduceOp::kSum);
    }
    if (weight > 0.0) result.set(slot.epoch_name, epoch_value(slot.options.reduce, sum, weight));
  }
  return result;
}

Metrics MetricStore::latest(bool only_prog_bar) const {
  Metrics result;
  for (const Slot& slot : slots_) {
    if (only_prog_bar && !slot.options.prog_bar) continue;
    if (slot.on_step && slot.last_step >= 0) {
      result.set(slot.name, last_value(slot));
    } else if (slot.on_epoch && slot.weight > 0.0) {
      result.set(slot.name, epoch_value(slot.options.reduce, epoch_sum(slot), slot.weight));
    }
  }
  return result;
}

bool MetricStore::is_on_host() const {
  return std::none_of(slots_.begin(), slots_.end(),
                      [](const Slot& s) { return s.device_value.defined() || s.device_sum.defined(); });
}

void MetricStore::reset_epoch() {
  for (Slot& slot : slots_) {
    slot.sum = initial_sum(slot.options.reduce);
    slot.weight = 0.0;
    slot.device_sum.reset();
  }
}

bool MetricStore::goes_to_logger(std::string_view name) const {
  const auto found = std::find_if(slots_.begin(), slots_.end(),
                                  [&](const Slot& s) { return s.step_name == name || s.epoch_name == name; });
  return found == slots_.end() || found->options.logger;
}

}  // namespace levin
