#include "callbacks/throughput_monitor.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <array>
#include <vector>

#include "callbacks/check_options.h"
#include "callbacks/first_parameter.h"
#include "callbacks/matmul_rate.h"
#include "trainer/core/error.h"

namespace levin {

namespace {

constexpr double kTera = 1e12;

std::vector<std::string> find_problems(ThroughputMonitor::Options options) {
  OptionChecker checker;
  options.visit(checker);
  std::vector<std::string> problems = checker.problems();
  const bool knows_peak = options.measure_peak || options.peak_tflops > 0.0;
  if (options.tokens_per_sample > 0.0 && options.tokens_from) {
    problems.push_back(fmt::format(
        "tokens_per_sample ({}) and tokens_from (\"{}\") both say how many tokens there are: set one of them",
        options.tokens_per_sample, *options.tokens_from));
  }
  if (options.tokens_from && options.tokens_from->empty()) {
    problems.push_back("tokens_from must name a field of the batch, got \"\"");
  }
  if (options.measure_peak && options.peak_tflops > 0.0) {
    problems.push_back(fmt::format("measure_peak and peak_tflops ({}) both say what the device can do: set one of them",
                                   options.peak_tflops));
  }
  if (knows_peak && options.flops_per_sample <= 0.0) {
    problems.push_back(fmt::format("{} needs flops_per_sample, of which the share is taken",
                                   options.measure_peak ? "measure_peak" : "peak_tflops"));
  }
  return problems;
}

/// The type in which products of matrices are made: mixed precisions keep the parameters in float32.
at::ScalarType product_type(const at::Tensor& parameter, const std::string& precision) {
  if (precision == "bf16-mixed") return at::kBFloat16;
  if (precision == "16-mixed") return at::kHalf;
  return parameter.scalar_type();
}

}  // namespace

void ThroughputMonitor::Options::visit(OptionVisitor& visitor) {
  visitor.field("window", window, "micro-batches over which a rate is taken", at_least(1));
  visitor.field("flops_per_sample", flops_per_sample, "floating-point operations for one sample; 0: not known",
                at_least(0));
  visitor.field("tokens_per_sample", tokens_per_sample, "tokens of one sample; 0: not known", at_least(0));
  visitor.field("tokens_from", tokens_from, "field of the batch whose elements are counted as tokens");
  visitor.field("measure_peak", measure_peak, "measure what the device can do when a fit starts, for peak_share");
  visitor.field("peak_tflops", peak_tflops, "what one device can do, in 10^12 operations a second; 0: not known",
                at_least(0));
}

ThroughputMonitor::ThroughputMonitor(const Options& options, ClockFunction now_s, MeasurePeak measure_peak)
    : options_(options),
      now_s_(now_s ? std::move(now_s) : steady_now_s),
      measure_peak_(std::move(measure_peak)),
      peak_flops_(options.peak_tflops * kTera) {
  throw_if_any("ThroughputMonitor", find_problems(options_));
  if (measure_peak_) return;
  measure_peak_ = [](at::Device device, at::ScalarType dtype) { return measure_matmul_rate(device, dtype); };
}

void ThroughputMonitor::on_fit_start(const RunContext& run) {
  if (!options_.measure_peak) return;
  const at::Tensor parameter = first_parameter(run.module);
  if (!parameter.defined()) return;
  const auto key = std::pair(parameter.device(), product_type(parameter, run.options.precision));
  if (peak_is_of_ == key) return;
  run.communicator.barrier();  // ranks that share a machine get a share of it each
  peak_flops_ = measure_peak_(key.first, key.second);
  peak_is_of_ = key;
}

void ThroughputMonitor::on_train_start(const RunContext& run) {
  start_epoch(run);
  const bool is_within_epoch = run.state.batch_idx > 0 && resumed_samples_at_start_ >= 0;
  if (is_within_epoch) {
    seconds_at_start_ -= resumed_seconds_;
    samples_at_start_ = resumed_samples_at_start_;
  }
  resumed_samples_at_start_ = -1;
}

StateDict ThroughputMonitor::state() const {
  StateDict state;
  state.set("epoch_seconds", training_seconds() - seconds_at_start_);
  state.set("samples_at_start", samples_at_start_);
  return state;
}

void ThroughputMonitor::load_state(const StateDict& state) {
  resumed_seconds_ = state.real("epoch_seconds");
  resumed_samples_at_start_ = state.integer("samples_at_start");
}

void ThroughputMonitor::start_epoch(const RunContext& run) {
  resume();
  seconds_at_start_ = training_seconds();
  samples_at_start_ = run.state.num_samples;
  marks_.clear();
  marks_.push_back({seconds_at_start_, num_samples_, num_tokens_});
}

void ThroughputMonitor::on_train_batch_start(const RunContext& /*run*/, const Batch& batch) {
  resume();
  tokens_of_batch_ = tokens_of(batch);
}

void ThroughputMonitor::on_train_batch_end(const RunContext& run, const StepOutput& /*output*/, const Batch& batch) {
  num_samples_ += batch.batch_size();
  num_tokens_ += tokens_of_batch_;
  marks_.push_back({training_seconds(), num_samples_, num_tokens_});
  if (static_cast<int64_t>(marks_.size()) > options_.window + 1) marks_.pop_front();
  if (run.is_logging_step) log_rates(run);
}

void ThroughputMonitor::on_validation_start(const RunContext& run) {
  if (run.is_fitting) pause();
}

void ThroughputMonitor::on_validation_end(const RunContext& run) {
  if (run.is_fitting && !run.is_sanity_checking) resume();
}

// The end of the save has no hook: the clock goes on with the next batch.
void ThroughputMonitor::on_save_checkpoint(const RunContext& /*run*/, StateDict& /*model*/) { pause(); }

void ThroughputMonitor::on_train_epoch_end(const RunContext& run) {
  const double seconds = training_seconds() - seconds_at_start_;
  pause();
  run.control.log("epoch_seconds", seconds);
  if (seconds > 0.0) {
    run.control.log("samples_per_second", static_cast<double>(run.state.num_samples - samples_at_start_) / seconds);
  }
}

double ThroughputMonitor::tokens_of(const Batch& batch) const {
  if (!options_.tokens_from) {
    return options_.tokens_per_sample > 0.0 ? options_.tokens_per_sample * static_cast<double>(batch.batch_size())
                                            : 0.0;
  }
  if (batch.is_fields()) {
    for (const auto& [name, field] : batch.fields()) {
      if (name == *options_.tokens_from && field.is_tensor() && field.tensor().defined()) {
        return static_cast<double>(field.tensor().numel());
      }
    }
  }
  throw ConfigError(
      fmt::format("[ThroughputMonitor] tokens_from must name a tensor of the batch, got \"{}\" for {}. Name "
                  "another field, or set tokens_per_sample.",
                  *options_.tokens_from, batch.describe()));
}

double ThroughputMonitor::training_seconds() const {
  return seconds_before_ + (is_running_ ? now_s_() - running_since_ : 0.0);
}

void ThroughputMonitor::pause() {
  seconds_before_ = training_seconds();
  is_running_ = false;
}

void ThroughputMonitor::resume() {
  if (!is_running_) running_since_ = now_s_();
  is_running_ = true;
}

void ThroughputMonitor::log_rates(const RunContext& run) const {
  const Mark& first = marks_.front();
  const Mark& last = marks_.back();
  const double seconds = last.seconds - first.seconds;
  std::array<double, 4> sums = {0.0, 0.0, 0.0, peak_flops_};
  auto& [samples, batches, tokens, peak] = sums;
  if (seconds > 0.0) {
    samples = static_cast<double>(last.samples - first.samples) / seconds;
    batches = static_cast<double>(marks_.size() - 1) / seconds;
    tokens = (last.tokens - first.tokens) / seconds;
  }
  if (run.communicator.world_size() > 1) {
    at::Tensor packed = at::from_blob(sums.data(), {static_cast<int64_t>(sums.size())}, at::kDouble);
    run.communicator.all_reduce(packed, ReduceOp::kSum);
  }
  run.control.log("throughput/samples_per_second", samples);
  run.control.log("throughput/batches_per_second", batches);
  const bool counts_tokens = options_.tokens_from || options_.tokens_per_sample > 0.0;
  if (counts_tokens) run.control.log("throughput/tokens_per_second", tokens);
  if (options_.flops_per_sample <= 0.0) return;
  const double flops = samples * options_.flops_per_sample;
  run.control.log("throughput/tflops_per_second", flops / kTera);
  if (peak > 0.0) run.control.log("throughput/peak_share", flops / peak);
}

}  // namespace levin
