#include "trainer/trial.h"

#include <chrono>
#include <csignal>

#include "trainer/fit_loop.h"
#include "trainer/out_of_memory.h"
#include "trainer/training_snapshot.h"

namespace levin {
namespace {

TrainerOptions trial_options(TrainerOptions options, const TrialPlan& plan) {
  options.max_steps = plan.max_steps;
  options.max_epochs = -1;
  options.min_epochs = options.min_steps = 0;
  options.max_time.clear();
  options.limit_val_batches = 0;
  options.num_sanity_val_steps = 0;
  options.log_every_n_steps = 0;
  options.reload_dataloaders_every_n_epochs = 0;
  if (!plan.may_split && options.micro_batch_size.is_automatic()) options.micro_batch_size = {};
  return options;
}

Run make_trial_run(const Run& run, const TrialPlan& plan) {
  TrainerParts parts = run.parts;
  parts.callbacks.clear();
  if (plan.observer) parts.callbacks.push_back(plan.observer);
  parts.loggers.clear();
  parts.profiler.reset();
  CallbackList callbacks(parts.callbacks);
  Run trial{.options = trial_options(run.options, plan),
            .parts = std::move(parts),
            .callbacks = std::move(callbacks),
            .seed = run.seed};
  trial.data = run.data;
  trial.is_error_told = true;  // a trial that fails is no error of the run
  return trial;
}

}  // namespace

TrialResult run_trial(Run& run, LightningModule& module, const FitSource& source, const TrialPlan& plan) {
  const TrainingSnapshot snapshot(run, module);
  Run trial = make_trial_run(run, plan);
  FitData data = make_data(trial, source);
  Optimizers optimizers = make_optimizers(trial, module);
  for (size_t i = 0; i < optimizers.size() && !plan.has_schedules; ++i) optimizers.schedule(i) = {};
  TrialResult result;
  result.num_batches = data.train().num_batches();
  const auto start = std::chrono::steady_clock::now();
  try {
    FitLoop loop(trial, module, optimizers, data);
    const FitStatus status = loop.run();
    if (status == FitStatus::kInterrupted) result.signal = SIGINT;
    if (status == FitStatus::kTerminated) result.signal = SIGTERM;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    result.is_out_of_memory = true;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.num_samples = trial.state.num_samples;
  result.num_steps = trial.state.global_step;
  return result;
}

}  // namespace levin
