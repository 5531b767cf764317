#include "trainer/core/metric_reduction.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "trainer/core/error.h"
#include "trainer/core/metric.h"
#include "trainer/core/metric_exchange.h"

namespace levin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What the ranks know of one name together.
struct SharedName {
  std::string name;
  std::string options;     // as encode_options
  int64_t first_rank = 0;  // that has the name
  std::optional<int64_t> first_with_metric = std::nullopt;
  int64_t num_with_metric = 0;
  bool is_awaiting_metric = false;  // a rank loaded a metric's state and has not logged the metric since
};

enum MetricPresence : char { kAbsent = '-', kPresent = 'm', kAwaited = 'l' };

// One character each: on_step, on_epoch, reduce, prog_bar, logger, is_metric.
constexpr size_t kNumOptions = 6;

std::string encode_options(const MetricSlot& slot) {
  return fmt::format("{:d}{:d}{:d}{:d}{:d}{:d}", slot.on_step, slot.on_epoch, static_cast<int>(slot.reduce),
                     slot.prog_bar, slot.logger, slot.is_metric);
}

MetricSlot decode_slot(const SharedName& shared) {
  const auto number = [&](size_t i) { return shared.options[i] - '0'; };
  const LogOptions options{
      .reduce = static_cast<Reduce>(number(2)), .prog_bar = number(3) != 0, .logger = number(4) != 0};
  return make_metric_slot(shared.name, number(0) != 0, number(1) != 0, options, number(5) != 0);
}

// "<length of the name>:<name><options><presence>" of each slot: a name may hold any character.
std::string encode_names(const std::vector<MetricSlot>& slots) {
  std::string text;
  for (const MetricSlot& slot : slots) {
    const MetricPresence presence = slot.metric != nullptr ? kPresent : slot.loaded ? kAwaited : kAbsent;
    text += fmt::format("{}:{}{}{}", slot.name.size(), slot.name, encode_options(slot), static_cast<char>(presence));
  }
  return text;
}

std::string_view cut(std::string_view& text, size_t length) {
  const std::string_view front = text.substr(0, length);
  text.remove_prefix(length);
  return front;
}

SharedName& add_name(std::vector<SharedName>& names, std::string_view name, std::string_view options, int64_t rank) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const SharedName& s) { return s.name == name; });
  if (found == names.end()) {
    return names.emplace_back(
        SharedName{.name = std::string(name), .options = std::string(options), .first_rank = rank});
  }
  if (found->options != options) {
    throw ConfigError(
        fmt::format("[log] \"{}\" was logged with different options on ranks {} and {}. Use the same on_step, "
                    "on_epoch, reduce, prog_bar and logger on every rank, or another name.",
                    name, found->first_rank, rank));
  }
  return *found;
}

void add_names_of_rank(std::vector<SharedName>& names, std::string_view text, int64_t rank) {
  while (!text.empty()) {
    size_t length = 0;
    std::from_chars(text.data(), text.data() + text.size(), length);
    cut(text, text.find(':') + 1);
    const std::string_view name = cut(text, length);
    const std::string_view options = cut(text, kNumOptions);
    const char presence = cut(text, 1).front();
    SharedName& shared = add_name(names, name, options, rank);
    shared.is_awaiting_metric |= presence == kAwaited;
    if (presence != kPresent) continue;
    ++shared.num_with_metric;
    if (!shared.first_with_metric) shared.first_with_metric = rank;
  }
}

std::vector<SharedName> agree_on_names(const std::vector<MetricSlot>& slots, Communicator& communicator) {
  std::vector<SharedName> names;
  const std::vector<std::string> texts = gather_texts(communicator, encode_names(slots));
  for (size_t rank = 0; rank < texts.size(); ++rank) add_names_of_rank(names, texts[rank], static_cast<int64_t>(rank));
  return names;
}

// The slot of each name, in the order of the names; new ones are added.
std::vector<const MetricSlot*> slots_of(const std::vector<SharedName>& names, std::vector<MetricSlot>& slots) {
  const auto find = [&](const SharedName& shared) {
    return std::find_if(slots.begin(), slots.end(), [&](const MetricSlot& slot) { return slot.name == shared.name; });
  };
  for (const SharedName& shared : names) {
    if (find(shared) == slots.end()) slots.push_back(decode_slot(shared));
  }
  std::vector<const MetricSlot*> result;
  result.reserve(names.size());
  for (const SharedName& shared : names) result.push_back(&*find(shared));
  return result;
}

struct Totals {
  std::vector<double> sums;  // or extremes
  std::vector<double> weights;
};

Totals local_totals(const std::vector<const MetricSlot*>& slots) {
  Totals totals;
  for (const MetricSlot* slot : slots) {
    totals.sums.push_back(slot->on_epoch && !slot->is_metric ? slot->total() : 0.0);
    totals.weights.push_back(slot->on_epoch ? slot->weight : 0.0);
  }
  return totals;
}

// One sum for sums and weights, then one maximum for all extremes; a minimum is the negative of a maximum of negatives.
void reduce_totals(Totals& totals, const std::vector<const MetricSlot*>& slots, Communicator& communicator) {
  const auto size = static_cast<int64_t>(slots.size());
  const bool has_extremes =
      std::any_of(slots.begin(), slots.end(), [](const auto* slot) { return slot->is_extreme(); });
  at::Tensor sums = at::zeros({2, size}, at::kDouble);
  at::Tensor extremes = at::full({size}, -kInfinity, at::kDouble);
  auto* sum = sums.mutable_data_ptr<double>();
  auto* extreme = extremes.mutable_data_ptr<double>();
  for (int64_t i = 0; i < size; ++i) {
    const auto index = static_cast<size_t>(i);
    const double mine = totals.sums[index];
    sum[size + i] = totals.weights[index];
    const bool is_extreme = slots[index]->is_extreme();
    // A maximum may lose NaN; a sum does not.
    if (!is_extreme || mine != mine) {
      sum[i] = mine;
    } else {
      extreme[i] = slots[index]->reduce == Reduce::kMin ? -mine : mine;
    }
  }
  communicator.all_reduce(sums, ReduceOp::kSum);
  if (has_extremes) communicator.all_reduce(extremes, ReduceOp::kMax);
  sum = sums.mutable_data_ptr<double>();
  extreme = extremes.mutable_data_ptr<double>();
  for (int64_t i = 0; i < size; ++i) {
    const auto index = static_cast<size_t>(i);
    totals.weights[index] = sum[size + i];
    totals.sums[index] = sum[i];
    if (slots[index]->is_extreme() && sum[i] == sum[i]) {
      totals.sums[index] = slots[index]->reduce == Reduce::kMin ? -extreme[i] : extreme[i];
    }
  }
}

std::optional<double> compute_metric(const MetricSlot& slot, const SharedName& shared, Communicator& communicator) {
  if (shared.is_awaiting_metric || !shared.first_with_metric) return std::nullopt;
  if (shared.num_with_metric == communicator.world_size()) return slot.metric->compute(communicator);
  return compute_with_absent_ranks(slot.metric, *shared.first_with_metric, communicator);
}

}  // namespace

Metrics reduce_epoch(std::vector<MetricSlot>& slots, Communicator& communicator) {
  const std::vector<SharedName> names = agree_on_names(slots, communicator);
  const std::vector<const MetricSlot*> shared_slots = slots_of(names, slots);
  Totals totals = local_totals(shared_slots);
  if (communicator.world_size() > 1 && !names.empty()) reduce_totals(totals, shared_slots, communicator);
  Metrics result;
  for (size_t i = 0; i < names.size(); ++i) {
    const MetricSlot& slot = *shared_slots[i];
    if (!(totals.weights[i] > 0.0)) continue;
    if (!slot.is_metric) {
      result.set(slot.epoch_name, slot.epoch_value(totals.sums[i], totals.weights[i]));
    } else if (const auto value = compute_metric(slot, names[i], communicator)) {
      result.set(slot.epoch_name, *value);
    }
  }
  return result;
}

}  // namespace levin
