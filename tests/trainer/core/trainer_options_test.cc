#include "trainer/core/trainer_options.h"

#include <gtest/gtest.h>

namespace levin {
namespace {

using Texts = std::vector<std::string>;

// "name: default" of each field.
class FieldLister final : public OptionVisitor {
 public:
  Texts fields;
  Texts without_help;

 private:
  void visit_field(std::string_view name, OptionTarget target, std::string_view help, const OptionRule&) override {
    fields.push_back(std::string(name) + ": " + option_to_string(target));
    if (help.empty()) without_help.emplace_back(name);
  }
};

// Whoever adds, renames or re-defaults an option changes this list, and the documentation with it.
TEST(TrainerOptionsTest, HasTheseFieldsAndDefaults) {
  FieldLister lister;
  TrainerOptions options;
  options.visit(lister);
  EXPECT_EQ(lister.fields, (Texts{
                               "accelerator: auto",
                               "strategy: auto",
                               "devices: 1",
                               "gpus: 0",
                               "precision: 32-true",
                               "max_epochs: -1",
                               "max_steps: -1",
                               "min_epochs: 0",
                               "min_steps: 0",
                               "max_time: ",
                               "limit_train_batches: 1.0",
                               "limit_val_batches: 1.0",
                               "limit_test_batches: 1.0",
                               "limit_predict_batches: 1.0",
                               "overfit_batches: 0",
                               "fast_dev_run: 0",
                               "val_check_interval: 1.0",
                               "check_val_every_n_epoch: 1",
                               "num_sanity_val_steps: 2",
                               "accumulate_grad_batches: 1",
                               "accumulate_across_epochs: false",
                               "micro_batch_size: none",
                               "memory_limit: ",
                               "gradient_clip_val: null",
                               "gradient_clip_algorithm: norm",
                               "lr_scaling: none",
                               "lr_reference_batch_size: 256",
                               "log_every_n_steps: 50",
                               "reload_dataloaders_every_n_epochs: 0",
                               "intra_op_threads: null",
                               "deterministic: false",
                               "deterministic_warn_only: false",
                               "benchmark: false",
                               "detect_anomaly: false",
                               "inference_mode: true",
                               "profiler: ",
                               "barebones: false",
                               "enable_checkpointing: true",
                               "enable_progress_bar: true",
                               "enable_model_summary: true",
                               "enable_report: true",
                               "handle_signals: true",
                               "default_root_dir: .",
                               "experiment_name: default",
                           }));
  EXPECT_EQ(lister.without_help, Texts{});
  EXPECT_TRUE(options.logger);
  EXPECT_EQ(options.seed, std::nullopt);
}

TEST(TrainerOptionsTest, TakesDesignatedInitialisers) {
  const TrainerOptions options{.strategy = "single", .max_epochs = 3};
  EXPECT_EQ(options.strategy, "single");
  EXPECT_EQ(options.max_epochs, 3);
  EXPECT_EQ(options.max_steps, -1);
  const TrainerOptions limits{.limit_train_batches = 10, .limit_val_batches = 0.1};
  EXPECT_EQ(limits.limit_train_batches, BatchLimit(10));
  EXPECT_EQ(limits.limit_val_batches, BatchLimit(0.1));
}

TEST(TrainerOptionsTest, DefaultsHaveNoProblem) { EXPECT_EQ(find_problems({}), Texts{}); }

TEST(TrainerOptionsTest, AllProblemsAreListed) {
  EXPECT_EQ(find_problems({.accelerator = "tpu",
                           .strategy = "fsdp",
                           .devices = 0,
                           .gpus = -1,
                           .precision = "16",
                           .max_epochs = -2,
                           .max_steps = -2,
                           .limit_train_batches = -1,
                           .limit_val_batches = 1.5,
                           .limit_test_batches = -0.5,
                           .limit_predict_batches = -3,
                           .check_val_every_n_epoch = 0,
                           .log_every_n_steps = -1,
                           .experiment_name = ""}),
            (Texts{
                "accelerator must be one of: auto, cpu, cuda, got tpu",
                "strategy must be one of: auto, single, got fsdp",
                "devices must be >= 1, got 0",
                "gpus must be >= 0, got -1",
                "precision must be one of: 32-true, 64-true, got 16",
                "max_epochs must be >= -1, got -2",
                "max_steps must be >= -1, got -2",
                "limit_train_batches must be a number of batches >= 0, or a fraction between 0.0 and 1.0, got -1",
                "limit_val_batches must be a number of batches >= 0, or a fraction between 0.0 and 1.0, got 1.5",
                "limit_test_batches must be a number of batches >= 0, or a fraction between 0.0 and 1.0, got -0.5",
                "limit_predict_batches must be a number of batches >= 0, or a fraction between 0.0 and 1.0, got -3",
                "check_val_every_n_epoch must be >= 1, got 0",
                "log_every_n_steps must be >= 0, got -1",
                "experiment_name must be a folder name without \"/\", got \"\"",
            }));
}

TEST(TrainerOptionsTest, OneGpuIsAllowed) {
  EXPECT_EQ(find_problems({.gpus = 1}), Texts{});
  EXPECT_EQ(find_problems({.accelerator = "cuda", .gpus = 1}), Texts{});
}

TEST(TrainerOptionsTest, GpusAndDevicesExcludeEachOther) {
  EXPECT_EQ(find_problems({.devices = 2, .gpus = 1}), Texts{"gpus (1) and devices (2) are both set; give one of them"});
}

TEST(TrainerOptionsTest, GpusDoNotFitTheCpu) {
  EXPECT_EQ(find_problems({.accelerator = "cpu", .gpus = 1}), Texts{"gpus is 1, but accelerator is \"cpu\""});
}

TEST(TrainerOptionsTest, SeveralDevicesNeedAnotherStrategy) {
  EXPECT_EQ(find_problems({.devices = 2}), Texts{"2 devices are asked for, but strategy \"auto\" uses exactly 1"});
  EXPECT_EQ(find_problems({.strategy = "single", .gpus = 4}),
            Texts{"4 devices are asked for, but strategy \"single\" uses exactly 1"});
}

TEST(TrainerOptionsTest, ExperimentNameIsOneFolder) {
  EXPECT_EQ(find_problems({.experiment_name = "a/b"}),
            Texts{"experiment_name must be a folder name without \"/\", got \"a/b\""});
}

}  // namespace
}  // namespace levin
