#include "callbacks/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "callbacks/bar_line.h"
#include "callbacks/check_options.h"

namespace levin {
namespace {

// The rate follows a change within a few seconds.
constexpr double kRateSmoothingSeconds = 3.0;

bool writes(const RunContext& run) { return run.communicator.rank() == 0; }

std::string epoch_label(const RunContext& run) {
  const int64_t number = run.state.epoch + 1;
  return run.max_epochs ? fmt::format("Epoch {}/{}", number, *run.max_epochs) : fmt::format("Epoch {}", number);
}

bool is_last_batch(const RunContext& run) {
  return (run.num_batches && run.state.batch_idx + 1 == *run.num_batches) ||
         (run.max_steps && run.state.global_step >= *run.max_steps);
}

std::optional<double> loss_on_host(const StepOutput& output) {
  if (output.is_skip() || !output.loss().is_cpu()) return std::nullopt;
  const double loss = output.loss().item().toDouble();
  return output.is_weighted() ? loss / output.weight() : loss;
}

}  // namespace

void ProgressBar::Options::visit(OptionVisitor& visitor) {
  visitor.field("refresh_interval_s", refresh_interval_s, "seconds between two drawings on a terminal", at_least(0));
  visitor.field("line_interval_s", line_interval_s, "seconds between two lines where the output is not a terminal",
                at_least(0));
}

ProgressBar::ProgressBar(const Options& options, std::shared_ptr<Console> console)
    : options_(options),
      console_(console ? std::move(console) : stderr_console()),
      is_terminal_(console_->is_terminal()) {
  check_options("ProgressBar", options_);
}

void ProgressBar::on_fit_start(const RunContext& /*run*/) {
  is_fitting_ = true;
  values_.clear();
}

void ProgressBar::on_fit_end(const RunContext& /*run*/) { is_fitting_ = false; }

// A fit that is resumed within an epoch has no start of it.
void ProgressBar::on_train_start(const RunContext& run) {
  if (run.state.batch_idx > 0) training_ = start_pass(run, epoch_label(run));
}

void ProgressBar::on_train_epoch_start(const RunContext& run) { training_ = start_pass(run, epoch_label(run)); }

void ProgressBar::on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& /*batch*/) {
  const bool is_due = advance(training_, run);
  if (!is_due && !is_last_batch(run)) return;
  if (!writes(run)) return;
  // Reading waits for no device, yet costs more than the clock: only what will be shown is read.
  if (const auto loss = loss_on_host(output)) values_.set("loss", *loss);
  collect_running_values(run);
  if (is_due) draw(training_, false);
}

void ProgressBar::on_train_epoch_end(const RunContext& run) {
  if (!writes(run)) return;
  collect_final_values(run);
  draw(training_, true);
}

void ProgressBar::on_validation_start(const RunContext& run) {
  evaluation_ = start_pass(run, is_fitting_ ? training_.label + " validate" : "Validate");
}

void ProgressBar::on_validation_batch_end(const RunContext& run, const Batch& /*batch*/) { advance_evaluation(run); }

void ProgressBar::on_validation_end(const RunContext& run) { finish_evaluation(run); }

void ProgressBar::on_test_start(const RunContext& run) { evaluation_ = start_pass(run, "Test"); }

void ProgressBar::on_test_batch_end(const RunContext& run, const Batch& /*batch*/) { advance_evaluation(run); }

void ProgressBar::on_test_end(const RunContext& run) { finish_evaluation(run); }

void ProgressBar::on_predict_start(const RunContext& run) { evaluation_ = start_pass(run, "Predict"); }

void ProgressBar::on_predict_batch_end(const RunContext& run, const Batch& /*predictions*/, const Batch& /*batch*/) {
  advance_evaluation(run);
}

void ProgressBar::on_predict_end(const RunContext& run) { finish_evaluation(run); }

void ProgressBar::on_exception(const RunContext& /*run*/, const std::exception& /*error*/) noexcept {
  if (is_line_open_) console_->write("\n");
  is_line_open_ = false;
  is_fitting_ = false;
}

ProgressBar::Pass ProgressBar::start_pass(const RunContext& run, std::string label) {
  if (!is_fitting_) values_.clear();
  Pass pass;
  pass.label = std::move(label);
  pass.total = run.num_batches;
  pass.start_s = console_->now_s();
  pass.last_s = pass.start_s;
  pass.sample_s = pass.start_s;
  // A terminal shows the first batch, a file the first interval.
  next_draw_s_ = is_terminal_ ? pass.start_s : pass.start_s + options_.line_interval_s;
  return pass;
}

bool ProgressBar::advance(Pass& pass, const RunContext& run) {
  pass.last_s = console_->now_s();
  pass.num_done = run.state.batch_idx + 1;
  if (pass.num_skipped < 0) {
    pass.num_skipped = run.state.batch_idx;
    pass.num_at_sample = run.state.batch_idx;
  }
  return pass.last_s >= next_draw_s_;
}

void ProgressBar::advance_evaluation(const RunContext& run) {
  if (!advance(evaluation_, run) || !writes(run)) return;
  if (!is_fitting_) collect_running_values(run);
  draw(evaluation_, false);
}

void ProgressBar::finish_evaluation(const RunContext& run) {
  if (!writes(run)) return;
  collect_final_values(run);
  if (!is_fitting_) draw(evaluation_, true);
}

void ProgressBar::collect_running_values(const RunContext& run) {
  if (run.store.is_on_host()) {
    values_.set_all(run.store.latest(true));
    return;
  }
  // On a device: the values that the loop has read for its loggers, for the names that have been shown before.
  for (const auto& [name, value] : Metrics(values_)) values_.set(name, run.metrics.find(name).value_or(value));
}

void ProgressBar::collect_final_values(const RunContext& run) {
  for (const auto& [name, value] : run.store.latest(true)) values_.set(name, run.metrics.find(name).value_or(value));
}

void ProgressBar::draw(Pass& pass, bool is_final) {
  const double elapsed_s = pass.last_s - pass.sample_s;
  if (elapsed_s > 0.0) {
    const double rate = static_cast<double>(pass.num_done - pass.num_at_sample) / elapsed_s;
    const double share = 1.0 - std::exp(-elapsed_s / kRateSmoothingSeconds);
    pass.rate = pass.rate ? *pass.rate + share * (rate - *pass.rate) : rate;
    pass.sample_s = pass.last_s;
    pass.num_at_sample = pass.num_done;
  }
  BarLine line{.label = pass.label,
               .num_done = pass.num_done,
               .total = pass.total,
               .elapsed_s = pass.last_s - pass.start_s,
               .rate = pass.rate.value_or(0.0),
               .is_final = is_final,
               .metrics = values_};
  // The final line gives the mean of the whole pass.
  if (is_final && line.elapsed_s > 0.0) {
    line.rate = static_cast<double>(pass.num_done - std::max<int64_t>(pass.num_skipped, 0)) / line.elapsed_s;
  }
  if (is_terminal_) {
    const BarStyle style{console_->num_columns(), console_->is_utf8(), console_->has_colors()};
    // Erases what a longer line has left behind.
    console_->write("\r" + format_bar_line(line, style) + "\x1b[K" + (is_final ? "\n" : ""));
    is_line_open_ = !is_final;
    next_draw_s_ = pass.last_s + options_.refresh_interval_s;
  } else {
    console_->write(format_plain_line(line) + "\n");
    next_draw_s_ = pass.last_s + options_.line_interval_s;
  }
}

}  // namespace levin
