// For how long a save holds the training up, beside a plain copy of the same state: 500 MB in 125 tensors.
//
//   checkpoint_save save FOLDER    prints {"first_seconds": ..., "later_seconds": ...}: the first save, which must take
//                                  its memory, and the median of those after it
//   checkpoint_save copy           the same for the copy: into new memory, and into memory that is there

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/benchmarks/benchmark_main.h"
#include "trainer/core/lightning_module.h"
#include "trainer/trainer.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kNumTensors = 125;
constexpr int64_t kTensorSize = 1'000'000;
constexpr int64_t kNumSaves = 6;
constexpr int64_t kBatchesBetween = 4;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class LargeModule final : public levin::LightningModule {
 public:
  LargeModule() {
    for (int64_t i = 0; i < kNumTensors; ++i) {
      weights_.push_back(register_parameter("w" + std::to_string(i), torch::ones({kTensorSize}), i == 0));
    }
  }
  levin::StepOutput training_step(const levin::Batch& /*batch*/, levin::StepContext& /*ctx*/) override {
    return weights_[0][0];
  }
  levin::Optimizers configure_optimizers() override {
    return std::make_unique<torch::optim::SGD>(std::vector<at::Tensor>{weights_[0]}, 0.01);
  }
  const std::vector<at::Tensor>& weights() const { return weights_; }

 private:
  std::vector<at::Tensor> weights_;
};

class Batches final : public levin::DataLoader {
 public:
  void start_epoch(int64_t /*epoch*/) override { delivered_ = 0; }
  std::optional<levin::Batch> next() override {
    if (delivered_ == *num_batches()) return std::nullopt;
    ++delivered_;
    return levin::Batch(at::zeros({1}));
  }
  std::optional<int64_t> num_batches() const override { return kNumSaves * kBatchesBetween; }

 private:
  int64_t delivered_ = 0;
};

/// Asks for a save every few batches, and measures from there to the next batch.
class Saver final : public levin::Callback {
 public:
  void on_train_batch_start(const levin::RunContext& run, const levin::Batch& /*batch*/) override {
    if (num_batches_ > 0) (saves_ ? held_ : others_).push_back(seconds_since(end_of_batch_));
    saves_ = false;
    // The next save must not wait for this one.
    run.control.last_checkpoint();
  }
  void on_train_batch_end(const levin::RunContext& run, const levin::StepOutput& /*output*/,
                          const levin::Batch& /*batch*/) override {
    saves_ = ++num_batches_ % kBatchesBetween == 1;
    end_of_batch_ = Clock::now();
    if (saves_) run.control.save_checkpoint(run.run_dir / "checkpoints" / std::to_string(num_batches_), {});
  }
  void print() const {
    const double usual = median(others_);
    std::printf("{\"first_seconds\": %.6f, \"later_seconds\": %.6f}\n", held_.front() - usual,
                median({held_.begin() + 1, held_.end()}) - usual);
  }

 private:
  int64_t num_batches_ = 0;
  bool saves_ = false;
  Clock::time_point end_of_batch_;
  std::vector<double> held_;    // seconds between two batches with a save between them
  std::vector<double> others_;  // without
};

void measure_saves(const std::string& folder) {
  LargeModule module;
  Batches loader;
  const auto saver = std::make_shared<Saver>();
  levin::Trainer trainer({.max_epochs = 1,
                          .enable_progress_bar = false,
                          .enable_model_summary = false,
                          .enable_report = false,
                          .default_root_dir = folder},
                         {.callbacks = {saver}});
  trainer.fit(module, loader);
  std::filesystem::remove_all(trainer.run_dir());
  saver->print();
}

void measure_copies() {
  const LargeModule module;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> copies(kNumTensors);
  std::vector<double> seconds;
  for (int64_t i = 0; i < kNumSaves; ++i) {
    const Clock::time_point start = Clock::now();
    for (int64_t k = 0; k < kNumTensors; ++k) {
      if (i == 0) copies[k] = at::empty_like(module.weights()[k]);
      copies[k].copy_(module.weights()[k]);
    }
    seconds.push_back(seconds_since(start));
  }
  std::printf("{\"first_seconds\": %.6f, \"later_seconds\": %.6f}\n", seconds.front(),
              median({seconds.begin() + 1, seconds.end()}));
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "save" && argc == 3) {
    measure_saves(argv[2]);
  } else if (mode == "copy" && argc == 2) {
    measure_copies();
  } else {
    std::fprintf(stderr, "usage: checkpoint_save save FOLDER | copy\n");
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return benchmark_main(run, argc, argv); }
