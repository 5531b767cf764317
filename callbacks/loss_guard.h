#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "callbacks/callback.h"
#include "callbacks/spike_window.h"
#include "trainer/core/error.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// The training has left the range in which it learns: a loss or gradient is not finite, or far above those before it.
class DivergenceError : public Error {
 public:
  using Error::Error;
};

/// Guards a run against losses that are not finite, and against spikes.
///
/// Watched are the loss of each micro-batch, averaged over ranks, and with check_gradients the L2 norm of all gradients
/// of an optimizer step before clipping. A value triggers if it is not finite, or, after a warm-up, above
/// mean + num_std * std and above ratio * mean of the last `window` values that did not trigger. All ranks decide
/// alike. Then, by `policy`:
/// - "stop": DivergenceError, with step, batch, value and the window's mean.
/// - "skip": the optimizer step is left out, so that the weights never see it. Judged is the loss of the whole step, as
///   backward gets it; with "16-mixed", where it is scaled, only whether it is finite, so check_gradients is needed.
/// - "go_back": weights, optimizers and the number of steps return to the last checkpoint, while the data goes on, so
///   that the batches which led here are not seen again. DivergenceError if there is no checkpoint.
///
/// The last two trigger DivergenceError after max_times in a row: without a good step in between (skip), or without
/// getting past the step of the last trigger (go_back). They log `loss_guard_triggers`, the number so far.
///
/// Reading a loss synchronises the device: once for every check_every_n_batches micro-batches, whose losses are judged
/// together, so that none is missed. A checkpoint may be saved before that; with go_back keep it at 1.
class LossGuard final : public Callback {
 public:
  struct Options {
    /// "stop", "skip" or "go_back".
    std::string policy = "stop";
    /// Values of which mean and standard deviation are taken.
    int64_t window = 100;
    /// Values before a finite one may trigger; <= window.
    int64_t warmup = 20;
    /// Unset: the standard deviation does not count.
    std::optional<double> num_std = 6.0;
    /// Unset: the ratio to the mean does not count.
    std::optional<double> ratio = 1.2;
    /// Watch the norm of the gradients too.
    bool check_gradients = false;
    /// Micro-batches between two checks; 1 with the policy "skip".
    int64_t check_every_n_batches = 1;
    /// Triggers in a row before the run ends, where it does not end at once.
    int64_t max_times = 3;

    void visit(OptionVisitor& visitor);
  };

  LossGuard() : LossGuard(Options{}) {}
  /// Errors: ConfigError, which names all options that are wrong.
  explicit LossGuard(const Options& options);

  void on_train_start(const RunContext& run) override;
  void on_train_batch_start(const RunContext& run, const Batch& batch) override;
  void on_before_backward(const RunContext& run, const at::Tensor& loss) override;
  void on_before_optimizer_step(const RunContext& run) override;
  void on_before_zero_grad(const RunContext& run) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;
  void on_train_epoch_end(const RunContext& run) override;
  void teardown(const RunContext& run) override;

  std::string state_key() const override { return "LossGuard"; }
  bool goes_back() const override { return false; }  // it counts how often it went back
  StateDict state() const override;
  /// Ignored during a fit: a run that goes back must not forget how often it has done so.
  void load_state(const StateDict& state) override;

 private:
  struct Place {
    int64_t epoch, batch_idx, step;
  };

  bool skips() const { return options_.policy == "skip"; }
  void judge_step(const RunContext& run);
  void judge_gradients(const RunContext& run);
  void judge_losses(const RunContext& run);
  /// True if it triggers (and throws, or asks for what the policy says).
  bool judge(const RunContext& run, const char* what, double value, const Place& place, SpikeWindow& window);
  void trigger(const RunContext& run, const std::string& problem, const Place& place);

  Options options_;
  SpikeWindow losses_, norms_;
  std::vector<at::Tensor> pending_;  // losses that were not judged yet; undefined: there was none
  std::vector<Place> places_;        // of them
  at::Tensor step_loss_;             // sum of the micro-batches so far; undefined: none
  int64_t batch_idx_ = 0;
  int64_t times_in_a_row_ = 0;
  int64_t num_triggers_ = 0;
  int64_t trigger_step_ = -1;
  bool is_loss_scaled_ = false;
  bool is_training_ = false;
};

}  // namespace levin
