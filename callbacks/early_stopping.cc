#include "callbacks/early_stopping.h"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "callbacks/check_options.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

// Logged under this name, or with on_step and on_epoch both, which adds a suffix.
bool is_logged(const MetricStore& store, const std::string& name) {
  if (store.has(name)) return true;
  for (const std::string_view suffix : {"_step", "_epoch"}) {
    if (name.ends_with(suffix) && store.has(name.substr(0, name.size() - suffix.size()))) return true;
  }
  return false;
}

}  // namespace

void EarlyStopping::Options::visit(OptionVisitor& visitor) {
  visitor.field("monitor", monitor, "metric that must improve; required");
  visitor.field("mode", mode, "which values are better", one_of({"min", "max"}));
  visitor.field("min_delta", min_delta, "what an improvement must exceed", at_least(0));
  visitor.field("patience", patience, "checks in a row without an improvement that end the fit", at_least(0));
  visitor.field("stopping_threshold", stopping_threshold, "a better value ends the fit at once; null: none");
  visitor.field("divergence_threshold", divergence_threshold, "a worse value ends the fit at once; null: none");
  visitor.field("check_finite", check_finite, "end the fit at a value that is NaN or infinite");
  visitor.field("strict", strict, "a metric that is not logged is an error");
  visitor.field("check_on_train_epoch_end", check_on_train_epoch_end,
                "check at the end of training epochs (true) or validations (false); null: where the metric is new");
}

EarlyStopping::EarlyStopping(const Options& options) : options_(options) {
  check_options("EarlyStopping", options_);
  if (options_.monitor.empty()) throw_if_any("EarlyStopping", {"monitor must name a metric, got \"\""});
}

void EarlyStopping::on_fit_start(const RunContext& run) {
  has_validated_ = false;
  is_value_new_ = false;
  if (std::exchange(is_resumed_, false)) ask_again(run);
  if (!options_.strict || run.has_validation || options_.check_on_train_epoch_end != false) return;
  throw ConfigError(
      "[EarlyStopping] check_on_train_epoch_end is false, which needs a validation, and this run has none. Set it to "
      "true, or validate.");
}

void EarlyStopping::on_validation_end(const RunContext& run) {
  if (!run.is_fitting || run.is_sanity_checking) return;
  has_validated_ = true;
  if (is_logged(run.store, options_.monitor)) {
    saved_.is_metric_of_validation = true;
    is_value_new_ = true;
  }
  const bool is_check_here = !options_.check_on_train_epoch_end.value_or(!saved_.is_metric_of_validation);
  if (is_check_here) check(run);
}

void EarlyStopping::on_train_epoch_end(const RunContext& run) {
  const bool is_of_validation = saved_.is_metric_of_validation;
  if (!options_.check_on_train_epoch_end.value_or(!is_of_validation)) return;
  if (is_of_validation && !is_value_new_) return;
  // The first validation may still bring it.
  if (run.has_validation && !has_validated_ && !run.metrics.find(options_.monitor)) return;
  check(run);
}

std::optional<double> EarlyStopping::agree_on_value(const RunContext& run) const {
  const std::optional<double> own = run.metrics.find(options_.monitor);
  if (run.communicator.world_size() == 1) return own;
  at::Tensor found = at::tensor({own ? 1.0 : 0.0, own.value_or(0.0)}, at::kDouble);
  run.communicator.broadcast(found, /*source=*/0);
  const std::optional<double> value =
      found[0].item<double>() > 0.0 ? std::optional(found[1].item<double>()) : std::nullopt;
  if (!options_.check_finite || !value) return value;
  at::Tensor num_bad = at::tensor({own && !std::isfinite(*own) ? 1.0 : 0.0}, at::kDouble);
  run.communicator.all_reduce(num_bad, ReduceOp::kSum);
  const bool is_bad_elsewhere = std::isfinite(*value) && num_bad.item<double>() > 0.0;
  return is_bad_elsewhere ? std::numeric_limits<double>::quiet_NaN() : value;
}

void EarlyStopping::check(const RunContext& run) {
  const std::optional<double> value = agree_on_value(run);
  if (!value && options_.strict) throw_missing(run);
  if (!value) return;
  is_value_new_ = false;
  const std::string reason = judge(*value);
  if (reason.empty()) return;
  saved_.stopped_epoch = run.state.epoch;
  saved_.stopped_value = *value;
  saved_.stopped_wait_count = saved_.wait_count;
  run.control.request_stop(fmt::format("[EarlyStopping] {} {}.", options_.monitor, reason));
}

// A checkpoint that was saved after the end had been asked for: the options of today decide whether it still is.
void EarlyStopping::ask_again(const RunContext& run) {
  if (!saved_.stopped_value) return;
  std::string reason = find_limit_reason(*saved_.stopped_value);
  if (reason.empty() && saved_.stopped_wait_count > 0) {
    reason = patience_reason(*saved_.stopped_value, saved_.stopped_wait_count);
  }
  if (reason.empty()) {
    saved_.stopped_epoch.reset();
    saved_.stopped_value.reset();
    return;
  }
  run.control.request_stop(fmt::format("[EarlyStopping] {} {}.", options_.monitor, reason));
}

std::string EarlyStopping::find_limit_reason(double value) const {
  if (options_.check_finite && !std::isfinite(value)) return fmt::format("is not finite: {}", value);
  const auto& target = options_.stopping_threshold;
  if (target && is_better(value, *target)) {
    return fmt::format("is {}, which is better than stopping_threshold, {}", value, *target);
  }
  const auto& limit = options_.divergence_threshold;
  if (limit && is_better(*limit, value)) {
    return fmt::format("is {}, which is worse than divergence_threshold, {}", value, *limit);
  }
  return "";
}

std::string EarlyStopping::patience_reason(double value, int64_t wait_count) const {
  if (wait_count < options_.patience) return "";
  return fmt::format("is {} and has not improved by more than {} in {} check{}; the best value is {}", value,
                     options_.min_delta, wait_count, wait_count == 1 ? "" : "s",
                     saved_.best_score ? fmt::format("{}", *saved_.best_score) : "none");
}

std::string EarlyStopping::judge(double value) {
  std::string reason = find_limit_reason(value);
  if (!reason.empty()) return reason;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double sign = options_.mode == "min" ? 1.0 : -1.0;
  if (is_better(value + sign * options_.min_delta, saved_.best_score.value_or(sign * kInfinity))) {
    saved_.best_score = value;
    saved_.wait_count = 0;
    return "";
  }
  return patience_reason(value, ++saved_.wait_count);
}

void EarlyStopping::throw_missing(const RunContext& run) const {
  throw ConfigError(fmt::format(
      "[EarlyStopping] monitor is \"{}\", but no such metric was logged. There are: {}. Log it, set monitor "
      "to one of these, or set strict to false.",
      options_.monitor, run.metrics.empty() ? "none" : run.metrics.names()));
}

std::string EarlyStopping::state_key() const {
  return fmt::format("EarlyStopping.{}.{}", options_.monitor, options_.mode);
}

StateDict EarlyStopping::state() const {
  StateDict state;
  state.set("wait_count", saved_.wait_count);
  state.set("stopped_epoch", saved_.stopped_epoch.value_or(-1));
  state.set("is_metric_of_validation", static_cast<int64_t>(saved_.is_metric_of_validation));
  if (saved_.best_score) state.set("best_score", *saved_.best_score);
  if (saved_.stopped_value) {
    state.set("stopped_value", *saved_.stopped_value);
    state.set("stopped_wait_count", saved_.stopped_wait_count);
  }
  return state;
}

void EarlyStopping::load_state(const StateDict& state) {
  Saved saved;
  saved.wait_count = state.integer("wait_count");
  const int64_t epoch = state.integer("stopped_epoch");
  if (epoch >= 0) saved.stopped_epoch = epoch;
  saved.is_metric_of_validation = state.integer("is_metric_of_validation") != 0;
  if (state.contains("best_score")) saved.best_score = state.real("best_score");
  if (state.contains("stopped_value")) {
    saved.stopped_value = state.real("stopped_value");
    saved.stopped_wait_count = state.integer("stopped_wait_count");
  }
  saved_ = saved;
  is_resumed_ = true;
}

}  // namespace levin
