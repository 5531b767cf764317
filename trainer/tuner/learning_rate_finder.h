#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/core/option_visitor.h"

namespace levin {

/// How a learning rate is searched: the rate grows from step to step, and the loss shows where training is fastest and
/// from where on it fails (Smith, "Cyclical Learning Rates for Training Neural Networks", 2017, section 3.3).
struct LearningRateFinderOptions {
  /// First and last rate that is tried.
  double min_lr = 1e-8;
  double max_lr = 1.0;
  /// Optimizer steps, one rate each.
  int64_t num_steps = 100;
  /// "exponential": each rate is the same factor above the one before; "linear": the same amount.
  std::string mode = "exponential";
  /// Ends the search where the smoothed loss is above so many times the best one so far. null: goes on to max_lr.
  std::optional<double> early_stop_threshold = 4.0;

  void visit(OptionVisitor& visitor);
};

/// What the search has seen. The vectors have one entry for each rate that was tried.
struct LearningRateFinderResult {
  std::vector<double> learning_rates = {};
  /// Exponential mean of the losses with decay 0.98, corrected for its start.
  std::vector<double> losses = {};
  /// The rate at which the loss fell fastest over the logarithm of the rate. Unset if it never fell clearly.
  std::optional<double> suggestion = std::nullopt;
};

/// The search without the training: says which rate comes next, and is told the loss.
class LearningRateFinder {
 public:
  /// Errors: ConfigError if an option is not allowed.
  explicit LearningRateFinder(LearningRateFinderOptions options = {});

  /// The rate of optimizer step `step`, from 0 to num_steps - 1.
  double learning_rate(int64_t step) const;
  /// The loss of the next step. False: the search is over, since all rates were tried, or the loss has gone up or is
  /// not finite.
  bool add(double loss);
  LearningRateFinderResult result() const;

 private:
  LearningRateFinderOptions options_;
  double mean_ = 0.0;
  double best_ = 0.0;
  LearningRateFinderResult result_;
};

}  // namespace levin
