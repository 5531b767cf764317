#pragma once

#include "trainer/core/option_visitor.h"
#include "trainer/core/schedule.h"

namespace levin {

/// Multiplies the rate by `factor` when the monitored metric has not improved for more than `patience` observations.
///
/// Better means (min, rel) < best * (1 - threshold), (max, rel) > best * (1 + threshold), (min, abs) < best -
/// threshold, (max, abs) > best + threshold; NaN is never better. After a reduction, `cooldown` observations do not
/// count. The rate does not fall below min_lr, and a change of at most eps is not made. Its state is saved and loaded.
class ReduceLROnPlateau final : public Schedule {
 public:
  static constexpr ScheduleInterval kDefaultInterval = ScheduleInterval::kEpoch;

  struct Options {
    std::string mode = "min";  ///< min or max
    double factor = 0.1;
    int64_t patience = 10;
    double threshold = 1e-4;
    std::string threshold_mode = "rel";  ///< rel or abs
    int64_t cooldown = 0;
    double min_lr = 0.0;
    double eps = 1e-8;
    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names each option with a forbidden value.
  explicit ReduceLROnPlateau(const Options& options);
  double learning_rate(double base_lr, int64_t step) const override;

  bool needs_metric() const override { return true; }
  void observe(double metric) override;
  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  Options options_;
  double best_;
  int64_t num_bad_ = 0;
  int64_t cooldown_left_ = 0;
  int64_t num_reductions_ = 0;

  static double worst(const Options& options);
  bool is_better(double metric) const;
};

}  // namespace levin
