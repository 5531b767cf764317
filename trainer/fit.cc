#include "trainer/fit.h"

#include <fmt/format.h>

#include <unordered_set>

#include "callbacks/profiler/profiler_list.h"
#include "callbacks/profiler/section_times.h"
#include "trainer/backend_scope.h"
#include "trainer/core/error.h"
#include "trainer/core/named_parameters.h"
#include "trainer/fit_checkpoint.h"
#include "trainer/fit_loop.h"
#include "trainer/resume_point.h"
#include "trainer/run_recorder.h"
#include "trainer/stage_scope.h"

namespace levin {
namespace {

/// Starts the profilers of a fit and stops them at the end, also after an error.
class ProfilerScope {
 public:
  ProfilerScope(Run& run, std::shared_ptr<Profiler> profiler) : run_(run), profiler_(std::move(profiler)) {
    profiler_->start(run.folder_path());
    run_.profiler = profiler_.get();
  }
  ~ProfilerScope() {
    try {
      stop();
    } catch (const std::exception& error) {
      TORCH_WARN("While the run ended because of an error: ", error.what());
    }
  }
  ProfilerScope(const ProfilerScope&) = delete;
  ProfilerScope& operator=(const ProfilerScope&) = delete;

  void stop() {
    if (std::exchange(run_.profiler, nullptr) != nullptr) profiler_->stop();
  }
  std::string report() const { return profiler_->report(); }

 private:
  Run& run_;
  std::shared_ptr<Profiler> profiler_;
};

/// A tied tensor stands in parameters() once for each name, and must not be stepped once for each.
void drop_repeated_parameters(Optimizers& optimizers) {
  for (size_t i = 0; i < optimizers.size(); ++i) {
    std::unordered_set<const c10::TensorImpl*> seen;
    for (auto& group : optimizers[i].param_groups()) {
      std::erase_if(group.params(),
                    [&](const at::Tensor& tensor) { return !seen.insert(tensor.unsafeGetTensorImpl()).second; });
    }
  }
}

Optimizers make_optimizers(const Run& run, LightningModule& module) {
  Optimizers optimizers =
      run.parts.optimizer ? run.parts.optimizer(named_parameters(module)) : module.configure_optimizers();
  drop_repeated_parameters(optimizers);
  if (run.parts.scheduler == nullptr) return optimizers;
  for (size_t i = 0; i < optimizers.size(); ++i) {
    ScheduleConfig config = run.parts.scheduler();
    check_schedule(config);
    optimizers.schedule(i) = std::move(config);
  }
  return optimizers;
}

FitData make_data(Run& run, const FitSource& source) {
  if (run.data != nullptr) return {*run.data, [&run](DataLoader& loader) { attach_loader(run, loader); }};
  attach_loader(run, *source.train);
  if (source.val != nullptr) attach_loader(run, *source.val);
  return {*source.train, source.val};
}

std::vector<TimeSection> time_split(const SectionTimes& times) {
  std::vector<TimeSection> split;
  for (const SectionTime& time : times.times()) {
    if (time.seconds > 0.0) split.push_back({.name = time.name, .seconds = time.seconds, .share = time.share});
  }
  return split;
}

RunStatus run_status(FitStatus status) {
  switch (status) {
    case FitStatus::kStoppedEarly: return RunStatus::kStoppedEarly;
    case FitStatus::kInterrupted:
    case FitStatus::kTerminated: return RunStatus::kInterrupted;
    default: return RunStatus::kFinished;
  }
}

/// What a resumed fit needs before it makes its optimizers.
void load_before_optimizers(Run& run, LightningModule& module, const ResumePoint& point) {
  const StateDict& saved = point.checkpoint.run;
  load_common_state(run, saved);
  load_model(point.checkpoint, *run.parts.strategy, module);
  if (run.data != nullptr) {
    const StateDict state = saved.under("data.");
    if (!state.empty()) run.data->load_state(state);
  }
  run.callbacks.load_state(saved.under("callbacks."));
}

void log_hyperparameters(Run& run) {
  if (run.record.hyper_parameters.empty()) return;
  for (const auto& logger : run.parts.loggers) logger->log_hyperparameters(run.record.hyper_parameters);
}

void open_run_folder(Run& run, LightningModule& module, const std::optional<ResumePoint>& point) {
  const bool continues = point && !point->run_dir.empty();
  const bool is_new = run.folder == nullptr;
  const bool keeps_files = !run.parts.loggers.empty() || run.options.enable_checkpointing;
  if (continues && is_new && keeps_files) {
    run.reopen_folder(point->run_dir);
    load_logger_states(run, point->checkpoint.run);
  } else {
    run.open_folder();
  }
  start_record(run, module);
  if (is_new && !continues && run.parts.strategy->communicator().rank() == 0) log_hyperparameters(run);
}

FitResult make_result(const Run& run, FitStatus status) {
  FitResult result;
  result.status = status;
  result.num_epochs = run.state.epoch;
  result.num_steps = run.state.global_step;
  result.metrics = run.metrics;
  return result;
}

/// The profilers of a fit: the cheap one that every report is made of, and those asked for.
std::shared_ptr<Profiler> make_profilers(const Run& run, const std::shared_ptr<SectionTimes>& times) {
  std::vector<std::shared_ptr<Profiler>> all = {times};
  if (run.parts.profiler) all.insert(all.begin(), run.parts.profiler);
  if (all.size() == 1) return times;
  return std::make_shared<ProfilerList>(std::move(all));
}

void note_failure(Run& run, const std::exception& error) {
  try {
    end_record(run, RunStatus::kFailed, error.what());
  } catch (const std::exception& second) {  // the first error is the one to report
    TORCH_WARN("While the run ended because of an error: ", second.what());
  }
}

FitResult train(Run& run, LightningModule& module, Optimizers& optimizers, FitData& data,
                const std::optional<ResumePoint>& point) {
  const auto times = std::make_shared<SectionTimes>();
  FitLoop loop(run, module, optimizers, data, [&run, times] { update_record(run, time_split(*times)); });
  if (point) loop.load_state(point->checkpoint, point->folder);
  std::string profile;
  FitStatus status;
  try {
    if (run.options.barebones) {
      status = loop.run();
    } else {
      ProfilerScope profiler(run, make_profilers(run, times));
      status = loop.run();
      profiler.stop();
      profile = profiler.report();
    }
    run.record.time_split = time_split(*times);
    end_record(run, run_status(status), "");
  } catch (const std::exception& error) {
    note_failure(run, error);
    throw;
  }
  FitResult result = make_result(run, status);
  result.profile = std::move(profile);
  return result;
}

FitResult fit_in_stage(Run& run, LightningModule& module, const FitSource& source, const std::string& resume) {
  run.parts.precision->convert_module(module);
  run.parts.strategy->setup(module);
  std::optional<ResumePoint> point;
  if (!resume.empty()) {
    point = find_resume_point(resume, run.options.default_root_dir, run.options.experiment_name);
  }
  try {
    if (point) load_before_optimizers(run, module, *point);
    Optimizers optimizers = make_optimizers(run, module);
    FitData data = make_data(run, source);
    open_run_folder(run, module, point);
    FitResult result = train(run, module, optimizers, data, point);
    run.discard_unkept_folder();  // a fit without a step has nothing to keep
    result.run_dir = run.folder_path();
    return result;
  } catch (const CheckpointError& error) {
    if (!point || run.state.global_step != point->checkpoint.run.integer("global_step")) throw;
    throw CheckpointError(fmt::format("[Trainer] cannot resume from {}: {}", point->folder.string(), error.what()));
  }
}

}  // namespace

void attach_loader(const Run& run, DataLoader& loader) {
  Communicator& communicator = run.parts.strategy->communicator();
  loader.attach({.seed = run.seed,
                 .rank = communicator.rank(),
                 .world_size = communicator.world_size(),
                 .is_in_order = !run.options.overfit_batches.is_zero()});
}

FitResult run_fit(Run& run, LightningModule& module, const FitSource& source, const std::string& resume) {
  const BackendScope backend(run.options);
  try {
    return in_stage(run, module, Stage::kTrain, [&] { return fit_in_stage(run, module, source, resume); });
  } catch (...) {
    run.discard_unkept_folder();
    throw;
  }
}

}  // namespace levin
