#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/core/communicator.h"
#include "trainer/core/metrics.h"
#include "trainer/core/trainer_state.h"

namespace levin {

/// How the values of one epoch become one.
enum class Reduce { kMean, kSum, kMin, kMax };

/// How a value is logged. The defaults depend on the stage: training logs each step, evaluation the whole epoch.
struct LogOptions {
  /// Log the value of the step. Default: true in training_step, else false.
  std::optional<bool> on_step = std::nullopt;
  /// Log the reduction over the epoch. Default: false in training_step, else true. With both, the names are
  /// "<name>_step" and "<name>_epoch".
  std::optional<bool> on_epoch = std::nullopt;
  Reduce reduce = Reduce::kMean;
  /// Show the value in the progress bar.
  bool prog_bar = false;
  /// Hand the value to the loggers. Callbacks see it in any case.
  bool logger = true;
  /// The weight of the value in an epoch mean, for example a number of tokens. Default: the batch size.
  std::optional<double> weight = std::nullopt;
};

/// Collects what the steps of one stage log. Values travel as (sum, weight) in double over batches and ranks and are
/// divided once. A tensor on a device is kept there, detached, until a value is asked for: logging does not synchronise
/// the device. Memory is bounded by the number of names. Call from one thread.
class MetricStore {
 public:
  explicit MetricStore(Stage stage) : stage_(stage) {}

  /// `value`: one element, any floating or integer type, any device. `default_weight` is used where options.weight is
  /// unset. Errors: ConfigError if the name was logged before with other options, or neither on_step nor on_epoch is
  /// true; ModelError if the tensor does not have exactly one element.
  void log(std::string_view name, const at::Tensor& value, const LogOptions& options, double default_weight);
  void log(std::string_view name, double value, const LogOptions& options, double default_weight);

  /// Ends the step: values logged from now on belong to the next one.
  void end_step() {
    ++step_;
    cursor_ = 0;
  }

  /// The on_step values of the last ended step, under the names for loggers. Synchronises the device.
  Metrics step_metrics() const;
  /// The on_epoch values since the last reset, reduced over all ranks (collective). Names without any weight are left
  /// out.
  Metrics epoch_metrics(Communicator& communicator) const;
  /// Newest values by plain name, for callbacks and the progress bar: the last step's where it is logged on_step, else
  /// the epoch's so far. Not reduced over ranks. Synchronises the device.
  Metrics latest(bool only_prog_bar) const;
  /// True if reading a value needs no device synchronisation.
  bool is_on_host() const;

  /// Forgets the values of the epoch; names and their options stay.
  void reset_epoch();

  /// True if `name`, as a logger sees it, may be handed to loggers.
  bool goes_to_logger(std::string_view name) const;

 private:
  struct Slot {
    std::string name;
    std::string step_name;
    std::string epoch_name;
    LogOptions options;
    bool on_step = false;
    bool on_epoch = false;
    int64_t last_step = -1;
    double value = 0.0;       // of the last step, if it was on the host
    at::Tensor device_value;  // of the last step, if it was on a device
    double sum = 0.0;         // of value * weight (kMean), of value (kSum), or the extreme
    double weight = 0.0;      // > 0 once a value has been seen
    at::Tensor device_sum;    // as sum, float64 on the device
  };

  Slot& slot(std::string_view name, const LogOptions& options);
  Slot make_slot(std::string_view name, const LogOptions& options) const;
  static double last_value(const Slot& slot);
  static double epoch_sum(const Slot& slot);
  static double epoch_value(Reduce reduce, double sum, double weight);

  Stage stage_;
  int64_t step_ = 0;
  size_t cursor_ = 0;  // steps log the same names in the same order: the next slot is guessed first
  std::vector<Slot> slots_;
};

}  // namespace levin
