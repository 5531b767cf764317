#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "trainer/core/state_dict.h"

namespace levin {

/// The last values of a series, and whether a new one stands out above them.
class SpikeWindow {
 public:
  struct Limits {
    int64_t size = 100;                            ///< Values that are kept.
    int64_t warmup = 20;                           ///< Values before a finite one can be a spike.
    std::optional<double> num_std = std::nullopt;  ///< A spike is above mean + num_std * std ...
    std::optional<double> ratio = std::nullopt;    ///< ... and above mean + (ratio - 1) * |mean|.
  };

  explicit SpikeWindow(const Limits& limits) : limits_(limits) {}

  /// True if `value` is not finite, or above all limits that are set (there must be one). The standard deviation is
  /// that of the population.
  bool is_spike(double value) const;
  /// Adds a finite value; the oldest goes.
  void add(double value);

  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  /// 0 if there are no values.
  double mean() const;
  double standard_deviation() const;

  StateDict state() const;
  /// Keeps the newest values if there are more than fit.
  void load_state(const StateDict& state);

 private:
  Limits limits_;
  std::deque<double> values_;
};

}  // namespace levin
