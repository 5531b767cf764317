#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/core/communicator.h"
#include "trainer/core/log_options.h"
#include "trainer/core/metric_slot.h"
#include "trainer/core/metrics.h"
#include "trainer/core/state_dict.h"
#include "trainer/core/trainer_state.h"

namespace levin {

class ScalarMetric;

/// Collects what the steps of one stage log. Values travel as (sum, weight) in double over batches and ranks and are
/// divided once. A tensor on a device is kept there, detached, until a value is asked for: logging does not synchronise
/// the device. Memory is bounded by the number of names. Call from one thread.
class MetricStore {
 public:
  explicit MetricStore(Stage stage) : stage_(stage) {}

  /// `value`: one element, any floating or integer type, any device. `default_weight` is used where options.weight is
  /// unset. Errors: ConfigError if the name was logged before with other options, or neither on_step nor on_epoch is
  /// true; ModelError if the tensor does not have exactly one element, or the weight is negative or not finite.
  void log(std::string_view name, const at::Tensor& value, const LogOptions& options, double default_weight);
  void log(std::string_view name, double value, const LogOptions& options, double default_weight);
  /// The epoch's value is metric.compute(). Keeps a pointer: `metric` must live until the next reset_epoch() is done,
  /// which resets it. After load_state, the first call gives the metric back what it had seen. Errors: ConfigError if
  /// the name was logged before with other options, as a value, or in this epoch with another metric; or if on_step, a
  /// reduce or a weight is asked for, or on_epoch switched off.
  void log(std::string_view name, ScalarMetric& metric, const LogOptions& options);

  /// Ends the step: values logged from now on belong to the next one.
  void end_step() {
    ++step_;
    cursor_ = 0;
  }

  /// Takes over what was logged into `part` since its last forget(), as one part of the present step: the values of
  /// several parts become one, by their reduction and weights. Errors: as log().
  void absorb(const MetricStore& part);
  /// Forgets all values, and leaves the metrics that were logged as they are; names and their options stay.
  void forget();

  /// The on_step values of the last ended step, under the names for loggers. Synchronises the device.
  Metrics step_metrics() const;
  /// The on_epoch values since the last reset, reduced over all ranks, the same on each. Collective, with the same few
  /// calls whatever each rank has logged; a name that only other ranks logged becomes known here. Left out: names
  /// without any weight, and metrics that were not logged again since load_state.
  /// Errors: ConfigError on all ranks if two of them logged a name with different options.
  Metrics epoch_metrics(Communicator& communicator);
  /// Newest values by plain name, for callbacks and the progress bar: the last step's where it is logged on_step, else
  /// the epoch's so far. Not reduced over ranks. Synchronises the device. A ScalarMetric is computed only if it is
  /// shown in the progress bar.
  Metrics latest(bool only_prog_bar) const;
  /// True if latest() needs no device synchronisation. A ScalarMetric in the progress bar may need one.
  bool is_on_host() const;

  /// Forgets the values of the epoch and resets the metrics logged in it; names and their options stay.
  void reset_epoch();

  /// True if `name`, as a logger sees it, may be handed to loggers.
  bool goes_to_logger(std::string_view name) const;
  /// True if something was logged under `name` (plain, without suffix) in any epoch.
  bool has(std::string_view name) const;
  /// True if `name` (plain) was logged with prog_bar. Reads no value.
  bool shows_in_progress_bar(std::string_view name) const;
  /// The plain names logged with prog_bar, in the order of logging. Reads no value.
  std::vector<std::string> prog_bar_names() const;

  /// Everything of a running epoch on this rank, exact; device tensors as they are (copies). Of a ScalarMetric, its own
  /// state.
  StateDict state() const;
  /// Replaces everything. Errors: CheckpointError if the state is damaged; nothing has changed then.
  void load_state(const StateDict& state);

 private:
  MetricSlot& slot(std::string_view name, const LogOptions& options, bool is_metric);
  MetricSlot make_slot(std::string_view name, const LogOptions& options, bool is_metric) const;
  const MetricSlot* find(std::string_view name) const;

  Stage stage_;
  int64_t step_ = 0;
  size_t cursor_ = 0;  // steps log the same names in the same order: the next slot is guessed first
  std::vector<MetricSlot> slots_;
};

}  // namespace levin
