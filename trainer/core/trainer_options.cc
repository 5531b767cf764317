#include "trainer/core/trainer_options.h"

#include <fmt/format.h>

#include "trainer/core/byte_size.h"
#include "trainer/core/duration.h"

namespace levin {

void TrainerOptions::visit(OptionVisitor& visitor) {
  visitor.field("accelerator", accelerator, "device type: auto takes CUDA where there is a device",
                one_of({"auto", "cpu", "cuda"}));
  visitor.field("strategy", strategy, "how the model is spread over devices", one_of({"auto", "single"}));
  visitor.field("devices", devices, "devices to use", at_least(1));
  visitor.field("gpus", gpus, "shorthand for accelerator: cuda and devices: gpus; 0 is off", at_least(0));
  visitor.field("precision", precision, "dtype of parameters and computation", one_of({"32-true", "64-true"}));
  visitor.field("max_epochs", max_epochs, "epochs to train; -1 is no limit; 1000 if max_steps is -1 too", at_least(-1));
  visitor.field("max_steps", max_steps, "optimizer steps to train; -1 is no limit", at_least(-1));
  visitor.field("min_epochs", min_epochs, "epochs before which nothing but a limit ends the training", at_least(0));
  visitor.field("min_steps", min_steps, "steps before which nothing but a limit ends the training", at_least(0));
  visitor.field("max_time", max_time, "time to train, as DD:HH:MM:SS or 90m; empty is no limit");
  visitor.field("limit_train_batches", limit_train_batches,
                "training batches an epoch: a count (10) or a fraction (0.1)");
  visitor.field("limit_val_batches", limit_val_batches,
                "validation batches: a count or a fraction; 0 turns validation off");
  visitor.field("limit_test_batches", limit_test_batches, "test batches: a count or a fraction");
  visitor.field("limit_predict_batches", limit_predict_batches, "prediction batches: a count or a fraction");
  visitor.field("overfit_batches", overfit_batches, "train and validate on these first batches only; 0 is off");
  visitor.field("fast_dev_run", fast_dev_run, "a trial with so many batches of each stage; 0 is off", at_least(0));
  visitor.field("val_check_interval", val_check_interval,
                "validations within an epoch: batches (250), a fraction (0.25) or a time (30m)");
  visitor.field("check_val_every_n_epoch", check_val_every_n_epoch,
                "epochs between two validations; null counts batches over epochs", at_least(1));
  visitor.field("num_sanity_val_steps", num_sanity_val_steps, "validation batches before the training; -1 is all",
                at_least(-1));
  visit_optimization(visitor);
  visitor.field("log_every_n_steps", log_every_n_steps, "optimizer steps between two rows of step metrics; 0 is none",
                at_least(0));
  visitor.field("reload_dataloaders_every_n_epochs", reload_dataloaders_every_n_epochs,
                "epochs after which the data module makes new loaders; 0 is never", at_least(0));
  visit_execution(visitor);
  visitor.field("enable_checkpointing", enable_checkpointing, "add a ModelCheckpoint where there is none");
  visitor.field("enable_progress_bar", enable_progress_bar, "add a ProgressBar where there is none");
  visitor.field("enable_model_summary", enable_model_summary, "add a ModelSummary where there is none");
  visitor.field("enable_report", enable_report, "write report.html when a fit ends");
  visitor.field("handle_signals", handle_signals, "SIGINT and SIGTERM save a checkpoint and end the fit");
  visitor.field("default_root_dir", default_root_dir, "folder that holds runs/");
  visitor.field("experiment_name", experiment_name, "folder of the runs below runs/");
}

void TrainerOptions::visit_optimization(OptionVisitor& visitor) {
  visitor.field("accumulate_grad_batches", accumulate_grad_batches, "micro-batches of an optimizer step", at_least(1));
  visitor.field("accumulate_across_epochs", accumulate_across_epochs,
                "carry a window that is not full into the next epoch");
  visitor.field("micro_batch_size", micro_batch_size,
                "samples that go through the model at once: a number, none (all), or auto (what fits)");
  visitor.field("memory_limit", memory_limit, "memory for tensors on the CPU, as 8GiB; empty is no limit");
  visitor.field("gradient_clip_val", gradient_clip_val, "limit of the gradients; null is none", above(0));
  visitor.field("gradient_clip_algorithm", gradient_clip_algorithm, "what is limited", one_of({"norm", "value"}));
  visitor.field("lr_scaling", lr_scaling, "scale learning rates with the global batch size",
                one_of({"none", "linear", "sqrt"}));
  visitor.field("lr_reference_batch_size", lr_reference_batch_size, "batch size that the learning rates are meant for",
                at_least(1));
}

void TrainerOptions::visit_execution(OptionVisitor& visitor) {
  visitor.field("intra_op_threads", intra_op_threads, "threads of an operation; null is cores / ranks of the host",
                at_least(1));
  visitor.field("deterministic", deterministic, "refuse operations that are not deterministic");
  visitor.field("deterministic_warn_only", deterministic_warn_only, "warn of them instead");
  visitor.field("benchmark", benchmark, "let cuDNN choose algorithms by trial");
  visitor.field("detect_anomaly", detect_anomaly, "name the operation of the first gradient that is not finite; slow");
  visitor.field("inference_mode", inference_mode, "validate, test and predict in inference mode");
  visitor.field("profiler", profiler, "where the time goes", one_of({"", "simple", "trace", "memory"}));
  visitor.field("barebones", barebones, "nothing but the loop");
}

TrainerOptions resolve_shorthands(TrainerOptions options) {
  if (options.fast_dev_run > 0) {
    const int64_t batches = options.fast_dev_run;
    options.limit_train_batches = options.limit_val_batches = batches;
    options.limit_test_batches = options.limit_predict_batches = batches;
    options.max_steps = batches;
    options.max_epochs = 1;
    options.min_epochs = options.min_steps = 0;
    options.num_sanity_val_steps = 0;
    options.val_check_interval = 1.0;
    options.check_val_every_n_epoch = 1;
    options.log_every_n_steps = 1;
    options.accumulate_across_epochs = false;
    options.enable_checkpointing = options.logger = options.enable_report = false;
  }
  if (!options.overfit_batches.is_zero()) {
    options.limit_train_batches = options.limit_val_batches = options.overfit_batches;
  }
  if (options.barebones) {
    options.enable_checkpointing = options.enable_progress_bar = options.enable_model_summary = false;
    options.logger = options.enable_report = false;
    options.num_sanity_val_steps = 0;
    options.log_every_n_steps = 0;
  }
  return options;
}

namespace {

void find_schedule_problems(const TrainerOptions& options, std::vector<std::string>& problems) {
  if (!options.max_time.empty() && !try_parse_duration(options.max_time)) {
    problems.push_back(fmt::format("max_time must be {}, got \"{}\"", kDurationForm, options.max_time));
  }
  if (!options.memory_limit.empty() && !try_parse_byte_size(options.memory_limit)) {
    problems.push_back(fmt::format("memory_limit must be {}, got \"{}\"", kByteSizeForm, options.memory_limit));
  }
  if (!options.memory_limit.empty() && (options.accelerator == "cuda" || options.gpus > 0)) {
    problems.emplace_back("memory_limit is for the CPU; on CUDA the device's memory is the limit");
  }
  if (!options.check_val_every_n_epoch && options.val_check_interval.is_fraction()) {
    problems.push_back(
        fmt::format("val_check_interval is the fraction {} of an epoch, but check_val_every_n_epoch is null, so that "
                    "batches are counted over epochs; give a number of batches",
                    options.val_check_interval.to_string()));
  }
  if (options.max_epochs >= 0 && options.min_epochs > options.max_epochs) {
    problems.push_back(fmt::format("min_epochs ({}) is above max_epochs ({})", options.min_epochs, options.max_epochs));
  }
  if (options.max_steps >= 0 && options.min_steps > options.max_steps) {
    problems.push_back(fmt::format("min_steps ({}) is above max_steps ({})", options.min_steps, options.max_steps));
  }
  if (options.barebones && (options.fast_dev_run > 0 || options.detect_anomaly || !options.profiler.empty())) {
    problems.emplace_back("barebones goes with neither fast_dev_run, detect_anomaly nor profiler");
  }
}

}  // namespace

std::vector<std::string> find_problems(TrainerOptions options) {
  OptionChecker checker;
  options.visit(checker);
  std::vector<std::string> problems = checker.problems();
  find_schedule_problems(options, problems);
  if (options.gpus > 0 && options.devices > 1) {
    problems.push_back(
        fmt::format("gpus ({}) and devices ({}) are both set; give one of them", options.gpus, options.devices));
  }
  if (options.gpus > 0 && options.accelerator == "cpu") {
    problems.push_back(fmt::format("gpus is {}, but accelerator is \"cpu\"", options.gpus));
  }
  const int64_t devices = options.gpus > 0 ? options.gpus : options.devices;
  if (devices > 1) {
    problems.push_back(
        fmt::format("{} devices are asked for, but strategy \"{}\" uses exactly 1", devices, options.strategy));
  }
  const std::string& name = options.experiment_name;
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    problems.push_back(fmt::format("experiment_name must be a folder name without \"/\", got \"{}\"", name));
  }
  return problems;
}

}  // namespace levin
