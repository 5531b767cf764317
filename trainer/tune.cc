#include "trainer/tune.h"

#include <fmt/format.h>

#include <utility>

#include "trainer/backend_scope.h"
#include "trainer/core/error.h"
#include "trainer/core/lightning_data_module.h"
#include "trainer/learning_rate_sweep.h"
#include "trainer/run_recorder.h"
#include "trainer/stage_scope.h"
#include "trainer/trial.h"
#include "trainer/tuner/tuner_report.h"

namespace levin {
namespace {

constexpr char kNoBatchSize[] =
    "[BatchSizeFinder] the data module cannot change its batch size. Override LightningDataModule::set_batch_size().";

void check_single_rank(Run& run) {
  const int64_t world_size = run.parts.strategy->communicator().world_size();
  if (world_size > 1) {
    throw ConfigError(
        fmt::format("[BatchSizeFinder] it works on one rank, there are {}. Search on one, and set the "
                    "size that it finds.",
                    world_size));
  }
}

void check_batch_size_search(Run& run) {
  check_single_rank(run);
  if (run.data == nullptr) throw ConfigError("[BatchSizeFinder] it needs a data module, which can change its loaders.");
  if (run.parts.strategy->device().is_cpu() && run.options.memory_limit.empty()) {
    throw ConfigError(
        "[BatchSizeFinder] on the CPU, memory has no limit to be found. Set memory_limit, for example \"8GiB\".");
  }
}

/// One size. False: it does not fit, or the data has no batch of that size.
TrialResult try_batch_size(Run& run, LightningModule& module, int64_t batch_size, int64_t num_steps, bool is_first) {
  if (!run.data->set_batch_size(batch_size)) throw ConfigError(kNoBatchSize);
  try {
    return run_trial(run, module, {}, {.max_steps = num_steps, .may_split = false});
  } catch (const DataError&) {
    if (is_first) throw;
    return {.is_out_of_memory = true};  // more than the data has
  }
}

void find_batch_size(Run& run, LightningModule& module, const BatchSizeFinderOptions& options, TunerResult& result) {
  BatchSizeFinder finder(options);
  check_batch_size_search(run);
  bool is_first = true;
  while (const std::optional<int64_t> size = finder.next()) {
    const TrialResult trial =
        try_batch_size(run, module, *size, options.steps_per_trial, std::exchange(is_first, false));
    result.signal = trial.signal;
    if (result.signal != 0) return;
    finder.add(!trial.is_out_of_memory, static_cast<double>(trial.num_samples) / trial.seconds);
    if (trial.is_out_of_memory || trial.num_batches != 1 || trial.num_steps == 0) continue;
    finder.set_largest(trial.num_samples / trial.num_steps);  // the data is one batch
  }
  result.batch_size = finder.result();
  run.batch_size = result.batch_size->batch_size;
  run.data->set_batch_size(*run.batch_size);
}

void find_learning_rate(Run& run, LightningModule& module, const FitSource& source,
                        const LearningRateFinderOptions& options, TunerResult& result) {
  if (!module.automatic_optimization()) {
    throw ConfigError("[LearningRateFinder] it needs automatic optimization, with one optimizer.");
  }
  if (run.options.lr_scaling != "none") {
    throw ConfigError(
        fmt::format("[LearningRateFinder] the rate that it finds is for the batch size as it is: set "
                    "lr_scaling to none, got \"{}\".",
                    run.options.lr_scaling));
  }
  LearningRateFinder finder(options);
  const TrialResult trial = run_trial(run, module, source,
                                      {.max_steps = options.num_steps,
                                       .observer = std::make_shared<LearningRateSweep>(finder),
                                       .has_schedules = false});
  result.signal = trial.signal;
  if (result.signal != 0) return;
  if (trial.is_out_of_memory) {
    throw ModelError(
        "[LearningRateFinder] a training step does not fit into memory. Make the batch smaller, or set "
        "micro_batch_size to a number.");
  }
  result.learning_rate = finder.result();
}

}  // namespace

void set_learning_rate(Optimizers& optimizers, double rate) {
  if (optimizers.size() != 1) {
    throw ConfigError(fmt::format("[LearningRateFinder] it needs exactly one optimizer, got {}.", optimizers.size()));
  }
  std::vector<double>& base = optimizers.base_learning_rates(0);
  if (base.empty()) throw ConfigError("[LearningRateFinder] the optimizer has no learning rate.");
  const double first = base.front();
  auto& groups = optimizers[0].param_groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    base[i] = first > 0.0 ? base[i] / first * rate : rate;
    groups[i].options().set_lr(base[i]);
  }
}

TunerResult tune(Run& run, LightningModule& module, const FitSource& source, const TunerOptions& options) {
  TunerResult result;
  if (options.batch_size) find_batch_size(run, module, *options.batch_size, result);
  if (options.learning_rate && result.signal == 0) {
    find_learning_rate(run, module, source, *options.learning_rate, result);
  }
  return result;
}

TunerResult run_tune(Run& run, LightningModule& module, const FitSource& source, const TunerOptions& options) {
  const BackendScope backend(run.options);
  return in_stage(run, module, Stage::kTrain, [&] {
    run.parts.precision->convert_module(module);
    run.parts.strategy->setup(module);
    TunerResult result = tune(run, module, source, options);
    if (result.signal != 0) return result;
    run.open_folder();
    start_record(run, module);
    run.record.sections = report_sections(result);
    if (run.folder) run.folder->keep();
    end_record(run, RunStatus::kFinished, "");
    return result;
  });
}

}  // namespace levin
