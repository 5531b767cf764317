#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "callbacks/callback.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Ends a fit when a metric no longer improves.
///
/// Each check takes the newest value, and the first of these that holds decides:
/// 1. not finite (with check_finite), better than stopping_threshold, or worse than divergence_threshold: stop.
/// 2. better than the best value by more than min_delta: it is the new best, and the waiting starts again.
/// 3. otherwise the wait grows by one check: stop when it reaches `patience`.
///
/// A metric that the validation logs is checked after each validation, another one at the end of each training epoch;
/// check_on_train_epoch_end says otherwise. The value of one validation is never counted twice, and the sanity check
/// does not count. min_epochs and min_steps of the Trainer delay the end.
///
/// Collective: all ranks judge the value of rank 0, and one that is not finite on any rank. A run that is resumed keeps
/// best and wait, under the options that it has now: where they would still have ended it, it ends at once. Errors:
/// ConfigError if the metric is not logged (with strict).
class EarlyStopping final : public Callback {
 public:
  struct Options {
    /// Name of the metric; required.
    std::string monitor = {};
    /// "min" or "max": which values are better.
    std::string mode = "min";
    /// What an improvement must exceed; >= 0.
    double min_delta = 0.0;
    /// Checks in a row without an improvement that end the fit.
    int64_t patience = 3;
    /// Unset: no such limit. A value equal to it does not stop; so with divergence_threshold.
    std::optional<double> stopping_threshold = std::nullopt;
    std::optional<double> divergence_threshold = std::nullopt;
    /// Stop at a value that is NaN or infinite.
    bool check_finite = true;
    /// A metric that is not logged is an error; false: such checks are passed over.
    bool strict = true;
    /// Check at the end of each training epoch (true) or after each validation (false). Unset: where the metric is new.
    std::optional<bool> check_on_train_epoch_end = std::nullopt;

    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError, which names all options that are wrong.
  explicit EarlyStopping(const Options& options);

  /// The epoch in which it asked for the end; nullopt: it has not.
  std::optional<int64_t> stopped_epoch() const { return saved_.stopped_epoch; }
  /// Checks since the best value.
  int64_t wait_count() const { return saved_.wait_count; }
  /// nullopt before the first check.
  std::optional<double> best_score() const { return saved_.best_score; }

  void on_fit_start(const RunContext& run) override;
  void on_validation_end(const RunContext& run) override;
  void on_train_epoch_end(const RunContext& run) override;

  bool runs_last() const override { return true; }
  /// The batches go on after a return to a checkpoint, and so does the judgement.
  bool goes_back() const override { return false; }
  std::string state_key() const override;
  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  /// What a checkpoint keeps of this callback.
  struct Saved {
    std::optional<double> best_score = std::nullopt;
    int64_t wait_count = 0;
    std::optional<int64_t> stopped_epoch = std::nullopt;
    // Of the check that asked for the end.
    std::optional<double> stopped_value = std::nullopt;
    int64_t stopped_wait_count = 0;
    bool is_metric_of_validation = false;
  };

  std::optional<double> agree_on_value(const RunContext& run) const;
  void check(const RunContext& run);
  /// Why to stop; "" to go on.
  std::string judge(double value);
  std::string find_limit_reason(double value) const;
  std::string patience_reason(double value, int64_t wait_count) const;
  void ask_again(const RunContext& run);
  bool is_better(double value, double than) const { return options_.mode == "min" ? value < than : value > than; }
  [[noreturn]] void throw_missing(const RunContext& run) const;

  Options options_;
  Saved saved_;
  bool is_resumed_ = false;
  bool has_validated_ = false;
  bool is_value_new_ = false;  // of a metric of the validation
};

}  // namespace levin
