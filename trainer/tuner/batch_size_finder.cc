#include "trainer/tuner/batch_size_finder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "trainer/core/error.h"

namespace levin {

void BatchSizeFinderOptions::visit(OptionVisitor& visitor) {
  visitor.field("mode", mode, "doubling only, or then halving the interval", one_of({"power", "binary"}));
  visitor.field("initial_batch_size", initial_batch_size, "size of the first trial", at_least(1));
  visitor.field("steps_per_trial", steps_per_trial, "optimizer steps of a trial", at_least(1));
  visitor.field("max_trials", max_trials, "trials at most", at_least(1));
  visitor.field("max_batch_size", max_batch_size, "sizes above are not tried", at_least(1));
  visitor.field("margin", margin, "part of the size that mode binary leaves free", between(0, 0.9));
}

BatchSizeFinder::BatchSizeFinder(BatchSizeFinderOptions options)
    : options_(std::move(options)), largest_(options_.max_batch_size) {
  OptionChecker checker;
  options_.visit(checker);
  std::vector<std::string> problems = checker.problems();
  if (options_.initial_batch_size > options_.max_batch_size) {
    problems.push_back(fmt::format("initial_batch_size ({}) is above max_batch_size ({})", options_.initial_batch_size,
                                   options_.max_batch_size));
  }
  if (!problems.empty()) throw ConfigError(fmt::format("[BatchSizeFinder] {}.", fmt::join(problems, "; ")));
}

std::optional<int64_t> BatchSizeFinder::propose() const {
  if (good_ == 0) return bad_ ? *bad_ / 2 : options_.initial_batch_size;
  if (!bad_) return good_ < largest_ ? std::optional(std::min(2 * good_, largest_)) : std::nullopt;
  if (options_.mode == "power" || *bad_ - good_ <= 1) return std::nullopt;
  return good_ + (*bad_ - good_) / 2;
}

std::optional<int64_t> BatchSizeFinder::next() const {
  if (static_cast<int64_t>(trials_.size()) >= options_.max_trials) return std::nullopt;
  const std::optional<int64_t> size = propose();
  return size == 0 ? std::nullopt : size;
}

void BatchSizeFinder::add(bool fits, double samples_per_second) {
  const std::optional<int64_t> size = next();
  if (!size) throw InternalError("[BatchSizeFinder] the search is over.");
  trials_.push_back({.batch_size = *size, .fits = fits, .samples_per_second = fits ? samples_per_second : 0.0});
  if (fits) {
    good_ = *size;
  } else {
    bad_ = *size;
  }
}

void BatchSizeFinder::set_largest(int64_t batch_size) { largest_ = std::min(largest_, batch_size); }

BatchSizeFinderResult BatchSizeFinder::result() const {
  if (good_ == 0) {
    throw ModelError(fmt::format("[BatchSizeFinder] training does not fit into memory, not with a batch of {} either.",
                                 trials_.empty() ? 0 : trials_.back().batch_size));
  }
  BatchSizeFinderResult result{.trials = trials_, .batch_size = std::min(good_, largest_)};
  if (options_.mode == "binary" && bad_) {
    const double kept = std::floor(static_cast<double>(good_) * (1.0 - options_.margin));
    result.batch_size = std::max<int64_t>(1, static_cast<int64_t>(kept));
  }
  return result;
}

}  // namespace levin
