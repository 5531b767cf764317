#include "trainer/tuner/learning_rate_finder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr double kDecay = 0.98;
// The mean has not settled at the start, and the last point may be the one that ended the search.
constexpr size_t kSkippedAtBegin = 10;
constexpr size_t kSkippedAtEnd = 1;
// As a share of the lowest loss: a fall to it that is smaller is taken for noise.
constexpr double kLeastFall = 1e-3;

/// Slope of the loss over the logarithm of the rate at point i, from its neighbours (second order, uneven distances).
double slope_at(const std::vector<double>& x, const std::vector<double>& y, size_t i) {
  if (i == 0) return (y[1] - y[0]) / (x[1] - x[0]);
  if (i + 1 == x.size()) return (y[i] - y[i - 1]) / (x[i] - x[i - 1]);
  const double before = x[i] - x[i - 1];
  const double after = x[i + 1] - x[i];
  return (before * before * (y[i + 1] - y[i]) + after * after * (y[i] - y[i - 1])) /
         (before * after * (before + after));
}

std::optional<double> suggest(const std::vector<double>& rates, const std::vector<double>& losses) {
  if (rates.size() < kSkippedAtBegin + kSkippedAtEnd + 2) return std::nullopt;
  const std::vector<double> y(losses.begin() + kSkippedAtBegin, losses.end() - kSkippedAtEnd);
  std::vector<double> x;
  for (size_t i = kSkippedAtBegin; i + kSkippedAtEnd < rates.size(); ++i) x.push_back(std::log(rates[i]));
  // Behind the lowest loss, a fall is only the way back from a peak.
  const auto lowest = static_cast<size_t>(std::min_element(y.begin(), y.end()) - y.begin());
  const double range = *std::max_element(y.begin(), y.begin() + static_cast<int64_t>(lowest) + 1) - y[lowest];
  size_t steepest = 0;
  double slope = 0.0;
  for (size_t i = 0; i <= lowest && y.size() >= 2; ++i) {
    const double here = slope_at(x, y, i);
    if (here < slope) {
      slope = here;
      steepest = i;
    }
  }
  if (!(range > std::abs(y[lowest]) * kLeastFall) || slope >= 0.0) return std::nullopt;
  return rates[kSkippedAtBegin + steepest];
}

}  // namespace

void LearningRateFinderOptions::visit(OptionVisitor& visitor) {
  visitor.field("min_lr", min_lr, "first learning rate that is tried", above(0));
  visitor.field("max_lr", max_lr, "last learning rate that is tried", above(0));
  visitor.field("num_steps", num_steps, "optimizer steps, one learning rate each", at_least(2));
  visitor.field("mode", mode, "how the learning rate grows", one_of({"exponential", "linear"}));
  visitor.field("early_stop_threshold", early_stop_threshold,
                "ends where the loss is above so many times the best; null is never", above(1));
}

LearningRateFinder::LearningRateFinder(LearningRateFinderOptions options) : options_(std::move(options)) {
  OptionChecker checker;
  options_.visit(checker);
  std::vector<std::string> problems = checker.problems();
  if (!(options_.min_lr < options_.max_lr)) {
    problems.push_back(fmt::format("min_lr ({}) must be below max_lr ({})", options_.min_lr, options_.max_lr));
  }
  if (!problems.empty()) throw ConfigError(fmt::format("[LearningRateFinder] {}.", fmt::join(problems, "; ")));
}

double LearningRateFinder::learning_rate(int64_t step) const {
  const double part = static_cast<double>(step) / static_cast<double>(options_.num_steps - 1);
  if (options_.mode == "linear") return options_.min_lr + part * (options_.max_lr - options_.min_lr);
  return options_.min_lr * std::pow(options_.max_lr / options_.min_lr, part);
}

bool LearningRateFinder::add(double loss) {
  const auto step = static_cast<int64_t>(result_.losses.size());
  if (!std::isfinite(loss) || step >= options_.num_steps) return false;
  mean_ = kDecay * mean_ + (1.0 - kDecay) * loss;
  const double smoothed = mean_ / (1.0 - std::pow(kDecay, static_cast<double>(step + 1)));
  result_.learning_rates.push_back(learning_rate(step));
  result_.losses.push_back(smoothed);
  best_ = step == 0 ? smoothed : std::min(best_, smoothed);
  // A loss may be negative; "times the best" then says nothing.
  const bool is_diverging =
      options_.early_stop_threshold && best_ > 0.0 && smoothed > *options_.early_stop_threshold * best_;
  return !is_diverging && step + 1 < options_.num_steps;
}

LearningRateFinderResult LearningRateFinder::result() const {
  LearningRateFinderResult result = result_;
  result.suggestion = suggest(result.learning_rates, result.losses);
  return result;
}

}  // namespace levin
