#include "callbacks/timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "callbacks/check_options.h"
#include "trainer/core/duration.h"

namespace levin {

void Timer::Options::visit(OptionVisitor& visitor) {
  visitor.field("duration", duration, "time to train, as DD:HH:MM:SS or 90m; empty is no limit");
  visitor.field("interval", interval, "after what the fit may end", one_of({"step", "epoch"}));
}

Timer::Timer(const Options& options, ClockFunction now_s)
    : options_(options), now_s_(now_s ? std::move(now_s) : ClockFunction(steady_now_s)) {
  OptionChecker checker;
  options_.visit(checker);
  std::vector<std::string> problems = checker.problems();
  if (!options_.duration.empty()) {
    const std::optional<Seconds> duration = try_parse_duration(options_.duration);
    if (duration) duration_s_ = duration->count();
    if (!duration) problems.push_back(fmt::format("duration must be {}, got \"{}\"", kDurationForm, options_.duration));
  }
  throw_if_any("Timer", problems);
}

double Timer::seconds_of(Stage stage) const {
  const Stopwatch& watch = watches_[static_cast<size_t>(stage)];
  return watch.seconds_before + (watch.running_since ? now_s_() - *watch.running_since : 0.0);
}

void Timer::start(Stage stage) { watch(stage).running_since = now_s_(); }

void Timer::stop(Stage stage) { watch(stage) = {.seconds_before = seconds_of(stage)}; }

Timer::Seconds Timer::time_elapsed(Stage stage) const { return Seconds(seconds_of(stage)); }

std::optional<Timer::Seconds> Timer::time_remaining() const {
  if (!duration_s_) return std::nullopt;
  return Seconds(std::max(0.0, *duration_s_ - seconds_of(Stage::kTrain)));
}

// Before load_state(), which adds the time before a resume.
void Timer::setup(const RunContext& run) {
  has_asked_ = false;
  watch(run.stage) = {};
  if (run.is_fitting) watch(Stage::kValidate) = {};
}

void Timer::check(const RunContext& run) {
  if (!duration_s_ || has_asked_) return;
  const double seconds = seconds_of(Stage::kTrain);
  if (seconds < *duration_s_) return;
  has_asked_ = true;
  run.control.request_stop(
      fmt::format("[Timer] the training has taken {:.1f} s, and duration is \"{}\".", seconds, options_.duration));
}

void Timer::on_train_start(const RunContext& run) {
  start(Stage::kTrain);
  check(run);
}

void Timer::on_train_batch_end(const RunContext& run, const StepOutput& /*output*/, const Batch& /*batch*/) {
  if (options_.interval == "step") check(run);
}

void Timer::on_train_epoch_end(const RunContext& run) {
  if (options_.interval == "epoch") check(run);
}

void Timer::on_train_end(const RunContext& /*run*/) { stop(Stage::kTrain); }
void Timer::on_validation_start(const RunContext& /*run*/) { start(Stage::kValidate); }
void Timer::on_validation_end(const RunContext& /*run*/) { stop(Stage::kValidate); }
void Timer::on_test_start(const RunContext& /*run*/) { start(Stage::kTest); }
void Timer::on_test_end(const RunContext& /*run*/) { stop(Stage::kTest); }
void Timer::on_predict_start(const RunContext& /*run*/) { start(Stage::kPredict); }
void Timer::on_predict_end(const RunContext& /*run*/) { stop(Stage::kPredict); }

void Timer::on_exception(const RunContext& /*run*/, const std::exception& /*error*/) noexcept {
  for (const Stage stage : {Stage::kTrain, Stage::kValidate, Stage::kTest, Stage::kPredict}) stop(stage);
}

StateDict Timer::state() const {
  StateDict state;
  state.set("train_seconds", seconds_of(Stage::kTrain));
  state.set("validate_seconds", seconds_of(Stage::kValidate));
  return state;
}

void Timer::load_state(const StateDict& state) {
  const double train_seconds = state.real("train_seconds");
  const double validate_seconds = state.real("validate_seconds");
  watch(Stage::kTrain) = {.seconds_before = train_seconds};
  watch(Stage::kValidate) = {.seconds_before = validate_seconds};
}

}  // namespace levin
