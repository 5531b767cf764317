#include "trainer/core/metric_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"
#include "trainer/core/metric.h"
#include "trainer/core/metric_reduction.h"
#include "trainer/core/metric_state.h"

namespace levin {
namespace {

// item() goes through the dispatcher; the common cases are read directly.
double host_value(const at::Tensor& value) {
  if (value.scalar_type() == at::kFloat) return *value.const_data_ptr<float>();
  if (value.scalar_type() == at::kDouble) return *value.const_data_ptr<double>();
  return value.item().toDouble();
}

[[noreturn]] void throw_bad_weight(std::string_view name, double weight) {
  throw ModelError(fmt::format("[log] \"{}\": the weight must be finite and at least 0, got {}.", name, weight));
}

double weight_of(std::string_view name, const LogOptions& options, double default_weight) {
  const double weight = options.weight ? *options.weight : default_weight;
  if (!(weight >= 0.0 && weight <= std::numeric_limits<double>::max())) throw_bad_weight(name, weight);
  return weight;
}

// The defaults of a stage; a metric object is of the epoch in each.
bool is_on_step(const LogOptions& options, Stage stage, bool is_metric) {
  return options.on_step ? *options.on_step : stage == Stage::kTrain && !is_metric;
}
bool is_on_epoch(const LogOptions& options, Stage stage, bool is_metric) {
  return options.on_epoch ? *options.on_epoch : stage != Stage::kTrain || is_metric;
}

bool has_options(const MetricSlot& slot, const LogOptions& options, Stage stage, bool is_metric) {
  return slot.is_metric == is_metric && slot.on_step == is_on_step(options, stage, is_metric) &&
         slot.on_epoch == is_on_epoch(options, stage, is_metric) && slot.reduce == options.reduce &&
         slot.prog_bar == options.prog_bar && slot.logger == options.logger;
}

[[noreturn]] void throw_other_options(const MetricSlot& slot, bool is_metric) {
  if (slot.is_metric != is_metric) {
    throw ConfigError(fmt::format("[log] \"{}\" was logged before as a {}. Use another name.", slot.name,
                                  is_metric ? "value, now as a metric" : "metric, now as a value"));
  }
  throw ConfigError(
      fmt::format("[log] \"{}\" was logged before with other options. Use the same on_step, on_epoch, reduce, "
                  "prog_bar and logger in every call, or another name.",
                  slot.name));
}

}  // namespace

MetricSlot MetricStore::make_slot(std::string_view name, const LogOptions& options, bool is_metric) const {
  const bool on_step = is_on_step(options, stage_, is_metric);
  const bool on_epoch = is_on_epoch(options, stage_, is_metric);
  if (!on_step && !on_epoch) {
    throw ConfigError(
        fmt::format("[log] \"{}\": on_step and on_epoch are both false, so nothing would be logged.", name));
  }
  return make_metric_slot(std::string(name), on_step, on_epoch, options, is_metric);
}

MetricSlot& MetricStore::slot(std::string_view name, const LogOptions& options, bool is_metric) {
  if (cursor_ >= slots_.size() || slots_[cursor_].name != name) {
    const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const MetricSlot& s) { return s.name == name; });
    cursor_ = static_cast<size_t>(found - slots_.begin());
    if (found == slots_.end()) slots_.push_back(make_slot(name, options, is_metric));
  }
  MetricSlot& slot = slots_[cursor_++];
  if (!has_options(slot, options, stage_, is_metric)) throw_other_options(slot, is_metric);
  return slot;
}

void MetricStore::log(std::string_view name, double value, const LogOptions& options, double default_weight) {
  const double weight = weight_of(name, options, default_weight);
  slot(name, options, /*is_metric=*/false).add(value, weight, step_);
}

void MetricStore::log(std::string_view name, const at::Tensor& value, const LogOptions& options,
                      double default_weight) {
  if (!value.defined() || value.numel() != 1) {
    throw ModelError(
        fmt::format("[log] \"{}\" must be a tensor with one element, got {}.", name, describe_tensor(value)));
  }
  if (value.is_cpu()) return log(name, host_value(value), options, default_weight);
  const double weight = weight_of(name, options, default_weight);
  slot(name, options, /*is_metric=*/false).add(value, weight, step_);
}

void MetricStore::log(std::string_view name, ScalarMetric& metric, const LogOptions& options) {
  if (options.on_step.value_or(false) || !options.on_epoch.value_or(true) || options.reduce != Reduce::kMean ||
      options.weight) {
    throw ConfigError(
        fmt::format("[log] \"{}\" is a metric, which has one value for the epoch and reduces itself. Leave out "
                    "on_step, on_epoch, reduce and weight.",
                    name));
  }
  MetricSlot& target = slot(name, options, /*is_metric=*/true);
  target.weight = 1.0;
  if (target.metric == &metric) return;
  if (target.metric != nullptr) {
    throw ConfigError(
        fmt::format("[log] \"{}\" was logged before with another metric in this epoch. Log one metric "
                    "under one name.",
                    name));
  }
  if (target.loaded) metric.merge_state(*target.loaded);
  target.loaded.reset();
  target.metric = &metric;
}

void MetricStore::absorb(const MetricStore& part) {
  for (const MetricSlot& slot_of_part : part.slots_) {
    const bool is_logged =
        slot_of_part.is_metric ? slot_of_part.metric != nullptr : slot_of_part.last_step == part.step_;
    if (!is_logged) continue;
    const LogOptions options = {.on_step = slot_of_part.is_metric ? std::nullopt : std::optional(slot_of_part.on_step),
                                .on_epoch = slot_of_part.on_epoch,
                                .reduce = slot_of_part.reduce,
                                .prog_bar = slot_of_part.prog_bar,
                                .logger = slot_of_part.logger};
    if (slot_of_part.is_metric) {
      log(slot_of_part.name, *slot_of_part.metric, options);
    } else {
      add_part(slot(slot_of_part.name, options, /*is_metric=*/false), slot_of_part, step_);
    }
  }
}

void MetricStore::forget() {
  for (MetricSlot& slot : slots_) slot.forget_epoch();
  end_step();
}

Metrics MetricStore::step_metrics() const {
  Metrics result;
  for (const MetricSlot& slot : slots_) {
    if (slot.on_step && slot.logger && slot.last_step == step_ - 1) result.set(slot.step_name, slot.last_value());
  }
  return result;
}

Metrics MetricStore::epoch_metrics(Communicator& communicator) { return reduce_epoch(slots_, communicator); }

Metrics MetricStore::latest(bool only_prog_bar) const {
  Metrics result;
  SingleProcessCommunicator this_rank;
  for (const MetricSlot& slot : slots_) {
    if (only_prog_bar && !slot.prog_bar) continue;
    if (slot.is_metric) {
      if (slot.prog_bar && slot.metric != nullptr) result.set(slot.name, slot.metric->compute(this_rank));
    } else if (slot.on_step && slot.last_step >= 0) {
      result.set(slot.name, slot.last_value());
    } else if (slot.on_epoch && slot.weight > 0.0) {
      result.set(slot.name, slot.epoch_value(slot.total(), slot.weight));
    }
  }
  return result;
}

bool MetricStore::is_on_host() const {
  return std::none_of(slots_.begin(), slots_.end(), [](const MetricSlot& slot) {
    if (slot.is_metric) return slot.prog_bar && slot.metric != nullptr;
    return slot.is_value_on_device || slot.device_sum.defined();
  });
}

void MetricStore::reset_epoch() {
  for (MetricSlot& slot : slots_) slot.reset_epoch();
}

bool MetricStore::goes_to_logger(std::string_view name) const {
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const MetricSlot& slot) {
    return slot.step_name == name || slot.epoch_name == name;
  });
  return found == slots_.end() || found->logger;
}

const MetricSlot* MetricStore::find(std::string_view name) const {
  const auto found =
      std::find_if(slots_.begin(), slots_.end(), [&](const MetricSlot& slot) { return slot.name == name; });
  return found == slots_.end() ? nullptr : &*found;
}

bool MetricStore::has(std::string_view name) const { return find(name) != nullptr; }

bool MetricStore::shows_in_progress_bar(std::string_view name) const {
  const MetricSlot* slot = find(name);
  return slot != nullptr && slot->prog_bar;
}

std::vector<std::string> MetricStore::prog_bar_names() const {
  std::vector<std::string> result;
  for (const MetricSlot& slot : slots_) {
    if (slot.prog_bar) result.push_back(slot.name);
  }
  return result;
}

StateDict MetricStore::state() const {
  StateDict state = save_slots(slots_);
  state.set("step", step_);
  return state;
}

void MetricStore::load_state(const StateDict& state) {
  const int64_t step = state.integer("step");
  slots_ = load_slots(state);
  step_ = step;
  cursor_ = 0;
}

}  // namespace levin
