#pragma once

#include <optional>
#include <string>

#include "callbacks/averaged_weights.h"
#include "callbacks/callback.h"

namespace levin {

/// Base of callbacks that keep an average of the weights: a subclass says when the average begins and how it moves.
///
/// From begin_average() on, the average is what counts outside of the training steps:
/// - A validation inside the fit, also the sanity check, measures the average. The weights are put back afterwards, bit
///   by bit, also if the validation throws.
/// - A checkpoint stores the average as the model, so that tests, predictions and other programs get it. The weights of
///   the training are in the state of this callback, and a fit that is resumed goes on from them exactly. A fit that is
///   resumed without this callback goes on from the average.
/// - At the end of the training the average stays in the module.
///
/// See AveragedWeights for memory and precision. One such callback in a run: two would swap the same weights.
class WeightAveraging : public Callback {
 public:
  void on_fit_start(const RunContext& run) override;
  void on_validation_start(const RunContext& run) override;
  void on_validation_end(const RunContext& run) override;
  void on_train_end(const RunContext& run) override;
  void on_exception(const RunContext& run, const std::exception& error) noexcept override;
  void teardown(const RunContext& run) override;
  void on_save_checkpoint(const RunContext& run, StateDict& model) override;

  std::string state_key() const override { return "WeightAveraging"; }
  StateDict state() const override;
  /// Works before on_fit_start, and during a fit, once the weights of the checkpoint are in the module.
  void load_state(const StateDict& state) override;

 protected:
  explicit WeightAveraging(bool with_buffers) : with_buffers_(with_buffers) {}

  bool has_average() const { return has_average_; }
  /// The average is the weights of now. The number of updates starts at 0.
  void begin_average();
  /// average += fraction * (weights - average). Needs has_average().
  void update_average(double fraction);
  /// Updates since begin_average().
  int64_t num_updates() const { return num_updates_; }

 private:
  void restore();

  bool with_buffers_;
  bool has_average_ = false;
  int64_t num_updates_ = 0;
  std::optional<AveragedWeights> weights_;  // during a fit
  StateDict loaded_;                        // to be taken over once the module is there
};

}  // namespace levin
