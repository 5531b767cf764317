#include "trainer/fit.h"

#include <fmt/format.h>

#include <csignal>

#include "callbacks/profiler/profiler_list.h"
#include "callbacks/profiler/section_times.h"
#include "trainer/backend_scope.h"
#include "trainer/core/error.h"
#include "trainer/fit_checkpoint.h"
#include "trainer/fit_loop.h"
#include "trainer/fit_parts.h"
#include "trainer/resume_point.h"
#include "trainer/run_recorder.h"
#include "trainer/stage_scope.h"
#include "trainer/tune.h"
#include "trainer/tuner/tuner_report.h"

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
    if (run.batch_size) run.data->set_batch_size(*run.batch_size);
    const StateDict state = saved.under("data.");
    if (!state.empty()) run.data->load_state(state);
  }
  run.callbacks.load_state(saved.under("callbacks."));
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
  if (!continues) log_hyperparameters(run);
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

void note_micro_batches(Run& run, int64_t limit) {
  if (limit == 0) return;
  constexpr char kTitle[] = "Automatic micro-batching";
  std::erase_if(run.record.sections, [&](const ReportSection& section) { return section.title == kTitle; });
  run.record.sections.push_back(
      {.title = kTitle,
       .text = fmt::format("A whole batch does not fit into memory: its gradients are accumulated over parts of at "
                           "most {} samples, with the same result.",
                           limit)});
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
    note_micro_batches(run, loop.micro_batch_limit());
    run.record.time_split = time_split(*times);
    end_record(run, run_status(status), "");
  } catch (const std::exception& error) {
    note_failure(run, error);
    throw;
  }
  FitResult result = make_result(run, status);
  result.micro_batch_size = loop.micro_batch_limit();
  result.profile = std::move(profile);
  return result;
}

TunerResult tune_before_fit(Run& run, LightningModule& module, const FitSource& source) {
  if (run.options.fast_dev_run > 0) return {};
  return tune(run, module, source, run.parts.tuner);
}

FitStatus status_of(int signal) { return signal == SIGINT ? FitStatus::kInterrupted : FitStatus::kTerminated; }

void note_findings(Run& run, const TunerResult& tuned) {
  for (ReportSection& section : report_sections(tuned)) run.record.sections.push_back(std::move(section));
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
    const TunerResult tuned = point ? TunerResult{} : tune_before_fit(run, module, source);
    if (tuned.signal != 0) return make_result(run, status_of(tuned.signal));
    Optimizers optimizers = make_optimizers(run, module);
    if (tuned.learning_rate && tuned.learning_rate->suggestion) {
      set_learning_rate(optimizers, *tuned.learning_rate->suggestion);
    }
    FitData data = make_data(run, source);
    open_run_folder(run, module, point);
    note_findings(run, tuned);
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

FitResult run_fit(Run& run, LightningModule& module, const FitSource& source, const std::string& resume) {
  const BackendScope backend(run.options, run.parts.strategy->communicator().local_world_size());
  run.intra_op_threads = backend.intra_op_threads();
  try {
    return in_stage(run, module, Stage::kTrain, [&] { return fit_in_stage(run, module, source, resume); });
  } catch (...) {
    run.discard_unkept_folder();
    throw;
  }
}

}  // namespace levin
