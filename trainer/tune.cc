#include "trainer/tune.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <optional>

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

/// Sets batch sizes of a data module for trials, and puts the first one back at the end unless another is kept.
class TrialBatchSize {
 public:
  explicit TrialBatchSize(LightningDataModule& data) : data_(data) {
    if (const auto loader = data.train_dataloader()) before_ = loader->batch_size();
  }
  ~TrialBatchSize() {
    if (is_kept_ || !before_) return;
    try {
      data_.set_batch_size(*before_);
    } catch (const std::exception& error) {
      TORCH_WARN("The batch size could not be put back to ", *before_, ": ", error.what());
    }
  }
  TrialBatchSize(const TrialBatchSize&) = delete;
  TrialBatchSize& operator=(const TrialBatchSize&) = delete;

  void set(int64_t batch_size) {
    if (data_.set_batch_size(batch_size)) return;
    throw ConfigError(
        "[BatchSizeFinder] the data module cannot change its batch size. Override "
        "LightningDataModule::set_batch_size().");
  }
  void keep(int64_t batch_size) {
    set(batch_size);
    is_kept_ = true;
  }

 private:
  LightningDataModule& data_;
  std::optional<int64_t> before_;
  bool is_kept_ = false;
};

/// False: the loader refuses its batch size, as one that drops a batch that is not full does if the data has no more.
bool has_loader(LightningDataModule& data) {
  try {
    return data.train_dataloader() != nullptr;
  } catch (const DataError&) {
    return false;
  }
}

void find_batch_size(Run& run, LightningModule& module, const BatchSizeFinderOptions& options, TunerResult& result) {
  BatchSizeFinder finder(options);
  check_batch_size_search(run);
  TrialBatchSize batch_size(*run.data);
  bool has_worked = false;
  while (const std::optional<int64_t> size = finder.next()) {
    batch_size.set(*size);
    if (has_worked && !has_loader(*run.data)) {
      finder.add(/*fits=*/false, 0.0);
      continue;
    }
    const TrialResult trial = run_trial(run, module, {}, {.max_steps = options.steps_per_trial, .may_split = false});
    has_worked = true;
    result.signal = trial.signal;
    if (result.signal != 0) return;
    finder.add(!trial.is_out_of_memory, static_cast<double>(trial.num_samples) / trial.seconds);
    if (trial.is_out_of_memory || trial.num_batches != 1 || trial.num_steps == 0) continue;
    finder.set_largest(trial.num_samples / trial.num_steps);  // the data is one batch
  }
  result.batch_size = finder.result();
  run.batch_size = result.batch_size->batch_size;
  batch_size.keep(*run.batch_size);
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
  const BackendScope backend(run.options, run.parts.strategy->communicator().local_world_size());
  run.intra_op_threads = backend.intra_op_threads();
  return in_stage(run, module, Stage::kTrain, [&] {
    run.parts.precision->convert_module(module);
    run.parts.strategy->setup(module);
    TunerResult result = tune(run, module, source, options);
    if (result.signal != 0) return result;
    run.open_folder();
    start_record(run, module);
    log_hyperparameters(run);
    run.record.sections = report_sections(result);
    if (run.folder) run.folder->keep();
    end_record(run, RunStatus::kFinished, "");
    return result;
  });
}

}  // namespace levin
