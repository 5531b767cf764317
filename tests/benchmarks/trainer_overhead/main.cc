// What a step of the Trainer costs beyond the same step in a bare LibTorch loop: an MLP 32 -> 64 -> 10, batch 8, SGD,
// one thread.
//
//   trainer_overhead bare|trainer|trainer_log|trainer_loggers [--steps N] [--folder FOLDER]
//       prints {"mode": ..., "us_per_step": ...}; trainer_log logs the loss, trainer_loggers writes it for CSV and
//       TensorBoard every 50 steps, below FOLDER
//   trainer_overhead first_step
//       trains one step and says so
//
// The first tenth of the steps is warm-up.

#include <ATen/Parallel.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "callbacks/loggers/csv_logger.h"
#include "callbacks/loggers/tensorboard_logger.h"
#include "tests/benchmarks/benchmark_main.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/random.h"
#include "trainer/trainer.h"

namespace {

namespace nn = torch::nn;
using Clock = std::chrono::steady_clock;

constexpr int64_t kBatchSize = 8;
constexpr int64_t kInputs = 32;
constexpr int64_t kHidden = 64;
constexpr int64_t kClasses = 10;
constexpr double kLearningRate = 0.01;

nn::Sequential make_network() {
  return nn::Sequential(nn::Linear(kInputs, kHidden), nn::ReLU(), nn::Linear(kHidden, kClasses));
}

levin::Batch make_batch() {
  return levin::Batch::of(torch::randn({kBatchSize, kInputs}), torch::randint(kClasses, {kBatchSize}));
}

/// Measures from the first step after the warm-up to the end of the last step.
class StepTimer {
 public:
  explicit StepTimer(int64_t num_steps) : num_steps_(num_steps), num_warmup_(num_steps / 10) {}

  /// Called at the start of each step.
  void start_step() {
    if (step_++ == num_warmup_) start_ = Clock::now();
  }
  double us_per_step() const {
    const std::chrono::duration<double, std::micro> elapsed = Clock::now() - start_;
    return elapsed.count() / static_cast<double>(num_steps_ - num_warmup_);
  }

 private:
  int64_t num_steps_;
  int64_t num_warmup_;
  int64_t step_ = 0;
  Clock::time_point start_;
};

/// The same batch again and again.
class RepeatedBatch final : public levin::DataLoader {
 public:
  RepeatedBatch(levin::Batch batch, int64_t num_batches) : batch_(std::move(batch)), num_batches_(num_batches) {}

  void start_epoch(int64_t /*epoch*/) override { delivered_ = 0; }
  std::optional<levin::Batch> next() override {
    if (delivered_ == num_batches_) return std::nullopt;
    ++delivered_;
    return batch_;
  }
  std::optional<int64_t> num_batches() const override { return num_batches_; }

 private:
  levin::Batch batch_;
  int64_t num_batches_;
  int64_t delivered_ = 0;
};

class Mlp final : public levin::LightningModule {
 public:
  Mlp(StepTimer& timer, bool is_logging) : timer_(timer), is_logging_(is_logging), network_(make_network()) {
    register_module("network", network_);
  }

  levin::StepOutput training_step(const levin::Batch& batch, levin::StepContext& ctx) override {
    timer_.start_step();
    const at::Tensor loss = nn::functional::cross_entropy(network_->forward(batch[0].tensor()), batch[1].tensor());
    if (is_logging_) ctx.log("loss", loss);
    return loss;
  }
  levin::Optimizers configure_optimizers() override {
    return std::make_unique<torch::optim::SGD>(parameters(), kLearningRate);
  }

 private:
  StepTimer& timer_;
  bool is_logging_;
  nn::Sequential network_;
};

double run_bare(int64_t num_steps) {
  nn::Sequential network = make_network();
  torch::optim::SGD optimizer(network->parameters(), kLearningRate);
  const levin::Batch batch = make_batch();
  const at::Tensor inputs = batch[0].tensor();
  const at::Tensor labels = batch[1].tensor();
  StepTimer timer(num_steps);
  for (int64_t step = 0; step < num_steps; ++step) {
    timer.start_step();
    const at::Tensor loss = nn::functional::cross_entropy(network->forward(inputs), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  return timer.us_per_step();
}

/// Takes the time before fit() returns and tears down.
class EndOfTraining final : public levin::Callback {
 public:
  explicit EndOfTraining(const StepTimer& timer) : timer_(timer) {}
  void on_train_epoch_end(const levin::RunContext& /*run*/) override { us_per_step_ = timer_.us_per_step(); }
  double us_per_step() const { return us_per_step_; }

 private:
  const StepTimer& timer_;
  double us_per_step_ = 0.0;
};

/// folder: for CSV and TensorBoard; empty: without loggers.
double run_trainer(int64_t num_steps, bool is_logging, const std::string& folder = "") {
  StepTimer timer(num_steps);
  Mlp model(timer, is_logging);
  RepeatedBatch loader(make_batch(), num_steps);
  const auto end = std::make_shared<EndOfTraining>(timer);
  std::vector<std::shared_ptr<levin::Logger>> loggers;
  if (!folder.empty()) loggers = {std::make_shared<levin::CSVLogger>(), std::make_shared<levin::TensorBoardLogger>()};
  levin::Trainer trainer({.max_epochs = 1,
                          .log_every_n_steps = 50,
                          .enable_checkpointing = false,
                          .enable_progress_bar = false,
                          .enable_model_summary = false,
                          .enable_report = false,
                          .default_root_dir = folder.empty() ? "." : folder,
                          .logger = !folder.empty()},
                         {.callbacks = {end}, .loggers = loggers});
  trainer.fit(model, loader);
  return end->us_per_step();
}

/// What stands behind `name`, or `otherwise`.
std::string option(int argc, char** argv, const std::string& name, const std::string& otherwise) {
  for (int i = 2; i + 1 < argc; ++i) {
    if (argv[i] == name) return argv[i + 1];
  }
  return otherwise;
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const int64_t num_steps = std::atoll(option(argc, argv, "--steps", "20000").c_str());
  at::set_num_threads(1);
  levin::seed_everything(0);
  if (mode == "first_step") {
    run_trainer(1, false);
    std::puts("first step done");
    std::fflush(stdout);
    return 0;
  }
  double us_per_step = 0.0;
  if (mode == "bare") {
    us_per_step = run_bare(num_steps);
  } else if (mode == "trainer" || mode == "trainer_log") {
    us_per_step = run_trainer(num_steps, mode == "trainer_log");
  } else if (mode == "trainer_loggers") {
    us_per_step = run_trainer(num_steps, true, option(argc, argv, "--folder", "."));
  } else {
    std::fprintf(
        stderr,
        "usage: trainer_overhead bare|trainer|trainer_log|trainer_loggers|first_step [--steps N] [--folder FOLDER]\n");
    return 2;
  }
  std::printf("{\"mode\": \"%s\", \"us_per_step\": %.3f}\n", mode.c_str(), us_per_step);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return benchmark_main(run, argc, argv); }
