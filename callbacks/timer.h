#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "callbacks/callback.h"
#include "callbacks/clock.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// Measures how long each stage takes, and ends a fit whose time is over.
///
/// The time of the training runs from on_train_start to on_train_end, validations within it included, as max_time of
/// the Trainer counts it. A run that is resumed goes on with the time it had, so that `duration` limits all its parts
/// together, under the duration that it has now; one whose time is over makes no further step.
///
/// min_epochs and min_steps of the Trainer delay the end. The Trainer's default of 1000 epochs holds beside the timer:
/// set max_epochs for longer runs.
///
/// Each rank has a clock of its own, and the first whose time is over ends the fit of all.
class Timer final : public Callback {
 public:
  using Seconds = std::chrono::duration<double>;

  struct Options {
    /// Time to train, as "DD:HH:MM:SS" or "90s", "10m", "2h", "1.5d"; "": no limit, the time is only measured.
    std::string duration = {};
    /// "step" or "epoch": after what the fit may end.
    std::string interval = "step";

    void visit(OptionVisitor& visitor);
  };

  Timer() : Timer(Options{}) {}
  /// now_s: seconds on a clock that never goes back; nullptr: the system's. Errors: ConfigError, which names all
  /// options that are wrong.
  explicit Timer(const Options& options, ClockFunction now_s = nullptr);

  /// How long a stage has taken in the newest call of the Trainer that ran it, and in the parts of the run before a
  /// resume; up to now if it runs. kValidate: all validations of a fit together, the sanity check included.
  Seconds time_elapsed(Stage stage = Stage::kTrain) const;
  /// Of the duration, at least 0; nullopt: there is no limit.
  std::optional<Seconds> time_remaining() const;

  void setup(const RunContext& run) override;
  void on_train_start(const RunContext& run) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;
  void on_train_epoch_end(const RunContext& run) override;
  void on_train_end(const RunContext& run) override;
  void on_validation_start(const RunContext& run) override;
  void on_validation_end(const RunContext& run) override;
  void on_test_start(const RunContext& run) override;
  void on_test_end(const RunContext& run) override;
  void on_predict_start(const RunContext& run) override;
  void on_predict_end(const RunContext& run) override;
  void on_exception(const RunContext& run, const std::exception& error) noexcept override;

  /// Time that is spent stays spent.
  bool goes_back() const override { return false; }
  std::string state_key() const override { return "Timer"; }
  /// The times of the training and of its validations.
  StateDict state() const override;
  void load_state(const StateDict& state) override;

 private:
  struct Stopwatch {
    double seconds_before = 0.0;  // up to the last stop
    std::optional<double> running_since = std::nullopt;
  };

  Stopwatch& watch(Stage stage) { return watches_[static_cast<size_t>(stage)]; }
  double seconds_of(Stage stage) const;
  void start(Stage stage);
  void stop(Stage stage);
  void check(const RunContext& run);

  Options options_;
  ClockFunction now_s_;
  std::optional<double> duration_s_;
  std::array<Stopwatch, 4> watches_;  // by Stage
  bool has_asked_ = false;            // for the end
};

}  // namespace levin
