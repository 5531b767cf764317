#include "callbacks/learning_rate_monitor.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "callbacks/check_options.h"
#include "callbacks/optimizer_values.h"

namespace levin {

void LearningRateMonitor::Options::visit(OptionVisitor& visitor) {
  visitor.field("logging_interval", logging_interval, "when to log; null: as each schedule has its steps",
                one_of({"step", "epoch"}));
  visitor.field("log_momentum", log_momentum, "log the momentum, or beta1, as well");
  visitor.field("log_weight_decay", log_weight_decay, "log the weight decay as well");
}

LearningRateMonitor::LearningRateMonitor(const Options& options) : options_(options) {
  check_options("LearningRateMonitor", options_);
}

void LearningRateMonitor::on_train_start(const RunContext& run) {
  is_due_ = false;
  make_names(*run.optimizers);
}

void LearningRateMonitor::on_train_epoch_start(const RunContext& run) { log(run, ScheduleInterval::kEpoch); }

void LearningRateMonitor::on_train_batch_start(const RunContext& run, const Batch& /*batch*/) {
  is_due_ = run.is_logging_step;
}

// A batch of manual optimization has several optimizer steps, between which schedules go on.
void LearningRateMonitor::on_before_optimizer_step(const RunContext& run) {
  if (std::exchange(is_due_, false)) log(run, ScheduleInterval::kStep);
}

bool LearningRateMonitor::is_logged_by(ScheduleInterval interval, const ScheduleConfig& schedule) const {
  if (!options_.logging_interval) return schedule.interval == interval;
  return (*options_.logging_interval == "epoch") == (interval == ScheduleInterval::kEpoch);
}

void LearningRateMonitor::make_names(const Optimizers& optimizers) {
  names_.assign(optimizers.size(), {});
  std::map<std::string, int64_t> num_before;
  for (size_t i = 0; i < optimizers.size(); ++i) {
    std::string base = "lr-" + class_name_of(optimizers[i]);
    const int64_t count = num_before[base]++;
    if (count > 0) base += fmt::format("-{}", count);
    const size_t num_groups = optimizers[i].param_groups().size();
    for (size_t group = 0; group < num_groups; ++group) {
      const std::string name = num_groups == 1 ? base : fmt::format("{}/pg{}", base, group + 1);
      names_[i].push_back({name, name + "-momentum", name + "-weight_decay"});
    }
  }
}

void LearningRateMonitor::log(const RunContext& run, ScheduleInterval interval) {
  const Optimizers& optimizers = *run.optimizers;
  const bool is_step = interval == ScheduleInterval::kStep;
  const LogOptions log_options = {.on_step = is_step, .on_epoch = !is_step};
  for (size_t i = 0; i < optimizers.size(); ++i) {
    if (!is_logged_by(interval, optimizers.schedule(i))) continue;
    const size_t num_groups = optimizers[i].param_groups().size();
    if (num_groups != names_[i].size()) make_names(optimizers);  // a group was added since
    for (size_t group = 0; group < num_groups; ++group) log_group(run, names_[i][group], i, group, log_options);
  }
}

void LearningRateMonitor::log_group(const RunContext& run, const Names& names, size_t optimizer, size_t group,
                                    const LogOptions& log_options) const {
  auto& options = (*run.optimizers)[optimizer].param_groups()[group].options();
  const std::optional<double> rate = learning_rate_of(options);
  if (rate) run.control.log(names.learning_rate, *rate, log_options);
  const std::optional<double> momentum = options_.log_momentum ? momentum_of(options) : std::nullopt;
  if (momentum) run.control.log(names.momentum, *momentum, log_options);
  const std::optional<double> decay = options_.log_weight_decay ? weight_decay_of(options) : std::nullopt;
  if (decay) run.control.log(names.weight_decay, *decay, log_options);
}

}  // namespace levin
