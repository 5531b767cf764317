#include "callbacks/gradient_accumulation_scheduler.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "callbacks/check_options.h"
#include "trainer/core/error.h"
#include "trainer/core/lightning_module.h"

namespace levin {

void GradientAccumulationScheduler::Options::visit(OptionVisitor& visitor) {
  visitor.field("scheduling", scheduling, "epoch -> micro-batches of an optimizer step from it on, as {0: 8, 4: 4}",
                at_least(1));
  visitor.field("by_step", by_step, "instead of scheduling: global_step -> micro-batches", at_least(1));
}

GradientAccumulationScheduler::GradientAccumulationScheduler(const Options& options) : options_(options) {
  OptionChecker checker;
  options_.visit(checker);
  std::vector<std::string> problems = checker.problems();
  if (options_.scheduling.empty() == options_.by_step.empty()) {
    problems.push_back(fmt::format("exactly one of scheduling and by_step must be given, got {}",
                                   options_.scheduling.empty() ? "neither" : "both"));
  }
  const auto check_first = [&](const char* name, const std::map<int64_t, int64_t>& map) {
    if (map.empty() || map.begin()->first >= 0) return;
    problems.push_back(fmt::format("the keys of {} must be >= 0, got {}", name, map.begin()->first));
  };
  check_first("scheduling", options_.scheduling);
  check_first("by_step", options_.by_step);
  throw_if_any("GradientAccumulationScheduler", problems);
}

void GradientAccumulationScheduler::setup(const RunContext& run) {
  if (!run.is_fitting) return;
  if (!run.module.automatic_optimization()) {
    throw ConfigError(
        "[GradientAccumulationScheduler] the module steps its optimizers itself (automatic_optimization() is false), "
        "so that there is nothing to schedule. Leave the callback out.");
  }
  if (run.options.accumulate_grad_batches == 1) return;
  throw ConfigError(fmt::format(
      "[GradientAccumulationScheduler] accumulate_grad_batches of the Trainer must be 1 with this callback, "
      "which sets it, got {}. Leave one of both out.",
      run.options.accumulate_grad_batches));
}

int64_t GradientAccumulationScheduler::num_batches_at(int64_t epoch, int64_t global_step) const {
  const bool is_by_step = !options_.by_step.empty();
  const std::map<int64_t, int64_t>& map = is_by_step ? options_.by_step : options_.scheduling;
  const auto next = map.upper_bound(is_by_step ? global_step : epoch);
  return next == map.begin() ? 1 : std::prev(next)->second;
}

void GradientAccumulationScheduler::apply(const RunContext& run) {
  applied_step_ = run.state.global_step;
  run.control.set_accumulate_grad_batches(num_batches_at(run.state.epoch, run.state.global_step));
}

void GradientAccumulationScheduler::on_train_start(const RunContext& run) { apply(run); }

void GradientAccumulationScheduler::on_train_epoch_start(const RunContext& run) { apply(run); }

void GradientAccumulationScheduler::on_train_batch_end(const RunContext& run, const StepOutput& /*output*/,
                                                       const Batch& /*batch*/) {
  if (!options_.by_step.empty() && run.state.global_step != applied_step_) apply(run);
}

}  // namespace levin
