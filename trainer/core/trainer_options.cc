#include "trainer/core/trainer_options.h"

#include <fmt/format.h>

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
  visitor.field("limit_train_batches", limit_train_batches,
                "training batches an epoch: a count (10) or a fraction (0.1)");
  visitor.field("limit_val_batches", limit_val_batches,
                "validation batches: a count or a fraction; 0 turns validation off");
  visitor.field("limit_test_batches", limit_test_batches, "test batches: a count or a fraction");
  visitor.field("limit_predict_batches", limit_predict_batches, "prediction batches: a count or a fraction");
  visitor.field("check_val_every_n_epoch", check_val_every_n_epoch, "epochs between two validations", at_least(1));
  visitor.field("log_every_n_steps", log_every_n_steps, "optimizer steps between two rows of step metrics; 0 is none",
                at_least(0));
  visitor.field("enable_checkpointing", enable_checkpointing, "add a ModelCheckpoint where there is none");
  visitor.field("enable_progress_bar", enable_progress_bar, "add a ProgressBar where there is none");
  visitor.field("enable_model_summary", enable_model_summary, "add a ModelSummary where there is none");
  visitor.field("default_root_dir", default_root_dir, "folder that holds runs/");
  visitor.field("experiment_name", experiment_name, "folder of the runs below runs/");
}

std::vector<std::string> find_problems(TrainerOptions options) {
  OptionChecker checker;
  options.visit(checker);
  std::vector<std::string> problems = checker.problems();
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
