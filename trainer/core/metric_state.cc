#include "trainer/core/metric_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"
#include "trainer/core/metric.h"

namespace levin {
namespace {

constexpr std::array<std::string_view, 4> kReduceNames = {"mean", "sum", "min", "max"};  // in the order of Reduce
constexpr std::string_view kMetricPrefix = "metric.";

StateDict save_slot(const MetricSlot& slot) {
  StateDict state;
  state.set("name", slot.name);
  state.set("on_step", static_cast<int64_t>(slot.on_step));
  state.set("on_epoch", static_cast<int64_t>(slot.on_epoch));
  state.set("reduce", std::string(kReduceNames[static_cast<size_t>(slot.reduce)]));
  state.set("prog_bar", static_cast<int64_t>(slot.prog_bar));
  state.set("logger", static_cast<int64_t>(slot.logger));
  state.set("is_metric", static_cast<int64_t>(slot.is_metric));
  state.set("last_step", slot.last_step);
  state.set("value", slot.value);
  state.set("sum", slot.sum);
  state.set("weight", slot.weight);
  if (slot.is_value_on_device) state.set("device_value", slot.device_value.clone());
  if (slot.device_sum.defined()) state.set("device_sum", slot.device_sum.clone());
  if (slot.metric != nullptr) {
    state.merge(kMetricPrefix, slot.metric->state());
  } else if (slot.loaded) {
    state.merge(kMetricPrefix, *slot.loaded);
  }
  return state;
}

Reduce parse_reduce(const std::string& text) {
  const auto found = std::find(kReduceNames.begin(), kReduceNames.end(), text);
  if (found == kReduceNames.end()) {
    throw CheckpointError(
        fmt::format("[MetricStore] the saved reduction must be mean, sum, min or max, got \"{}\".", text));
  }
  return static_cast<Reduce>(found - kReduceNames.begin());
}

// The tensor, or an undefined one where the entry is missing.
at::Tensor load_number(const StateDict& state, std::string_view name) {
  if (!state.contains(name)) return {};
  const at::Tensor& tensor = state.tensor(name);
  if (tensor.scalar_type() != at::kDouble || tensor.numel() != 1) {
    throw CheckpointError(fmt::format("[MetricStore] the saved entry \"{}\" must be one number in float64, got {}.",
                                      name, describe_tensor(tensor)));
  }
  return tensor.detach().clone().reshape({});
}

MetricSlot load_slot(const StateDict& state) {
  const LogOptions options{.reduce = parse_reduce(state.text("reduce")),
                           .prog_bar = state.integer("prog_bar") != 0,
                           .logger = state.integer("logger") != 0};
  MetricSlot slot = make_metric_slot(state.text("name"), state.integer("on_step") != 0, state.integer("on_epoch") != 0,
                                     options, state.integer("is_metric") != 0);
  slot.last_step = state.integer("last_step");
  slot.value = state.real("value");
  slot.sum = state.real("sum");
  slot.weight = state.real("weight");
  slot.device_value = load_number(state, "device_value");
  slot.is_value_on_device = slot.device_value.defined();
  slot.device_sum = load_number(state, "device_sum");
  if (slot.is_metric && slot.weight > 0.0) slot.loaded = state.under(kMetricPrefix);
  return slot;
}

}  // namespace

StateDict save_slots(const std::vector<MetricSlot>& slots) {
  StateDict state;
  state.set("size", static_cast<int64_t>(slots.size()));
  for (size_t i = 0; i < slots.size(); ++i) state.merge(fmt::format("{}.", i), save_slot(slots[i]));
  return state;
}

std::vector<MetricSlot> load_slots(const StateDict& state) {
  const int64_t size = state.integer("size");
  std::vector<MetricSlot> slots;
  for (int64_t i = 0; i < size; ++i) slots.push_back(load_slot(state.under(fmt::format("{}.", i))));
  return slots;
}

}  // namespace levin
