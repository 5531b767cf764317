#pragma once

#include <ATen/ops/mse_loss.h>
#include <ATen/ops/tensor.h>
#include <torch/optim/sgd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/core/lightning_data_module.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/trainer_options.h"
#include "trainer/data/dataset_loader.h"

namespace levin {

// y = w x without a bias, from w = 0, learning rate 0.01. On the batch x = [1, 2, 3, 4], y = 2x the gradient is
// mean(2 (w x - y) x) = -4 mean(x^2) = -30, so that one step gives w = 0.30.
struct TinyModel : LightningModule {
  using Step = std::function<StepOutput(TinyModel& model, const Batch& batch, StepContext& ctx)>;

  TinyModel() { w = register_parameter("w", torch::zeros({1, 1})); }
  // Trains with another step.
  explicit TinyModel(Step training) : TinyModel() { step = std::move(training); }

  // x [B, 1] -> [B, 1]
  at::Tensor forward(const at::Tensor& x) const { return x.matmul(w); }
  at::Tensor loss(const Batch& batch) const { return at::mse_loss(forward(batch[0].tensor()), batch[1].tensor()); }
  double weight() const { return w.item<double>(); }

  StepOutput training_step(const Batch& batch, StepContext& ctx) override {
    record("training_step");
    ++num_training_steps;
    if (step) return step(*this, batch, ctx);
    const at::Tensor value = loss(batch);
    ctx.log("train_loss", value);
    return value;
  }
  void validation_step(const Batch& batch, StepContext& ctx) override {
    record("validation_step");
    if (on_validation) on_validation(batch, ctx);
    ctx.log("val_loss", loss(batch));
  }
  void test_step(const Batch& batch, StepContext& ctx) override { ctx.log("test_loss", loss(batch)); }
  Batch predict_step(const Batch& batch, StepContext& /*ctx*/) override { return forward(batch[0].tensor()); }
  Optimizers configure_optimizers() override { return std::make_unique<torch::optim::SGD>(parameters(), 0.01); }

  void on_train_start(StepContext& /*ctx*/) override { record("on_train_start"); }
  void on_train_end(StepContext& /*ctx*/) override { record("on_train_end"); }
  void on_train_epoch_start(StepContext& /*ctx*/) override { record("on_train_epoch_start"); }
  void on_train_epoch_end(StepContext& /*ctx*/) override { record("on_train_epoch_end"); }

  void record(const char* what) const {
    if (calls != nullptr) calls->push_back(std::string("module.") + what);
  }

  at::Tensor w;
  Step step;
  std::function<void(const Batch&, StepContext&)> on_validation;
  int64_t num_training_steps = 0;
  std::vector<std::string>* calls = nullptr;  // where to record, if anywhere
};

// Each sample takes a MiB in the forward pass, which backward needs.
struct LargeModel : TinyModel {
  LargeModel() {
    step = [](TinyModel& m, const Batch& batch, StepContext& /*ctx*/) {
      const at::Tensor wide = m.forward(batch[0].tensor()).expand({-1, 1 << 18}) * 1.0;
      return (wide.square().mean(1, true) - batch[1].tensor() * m.forward(batch[0].tensor())).mean();
    };
  }
  Optimizers configure_optimizers() override { return std::make_unique<torch::optim::SGD>(parameters(), 1e-4); }
};

// The samples x = 1, 2, ... num_samples, y = 2x, for all stages, in order.
struct TinyData : LightningDataModule {
  explicit TinyData(int64_t samples = 4, int64_t size = 4) : num_samples(samples), batch_size(size) {}

  std::unique_ptr<DatasetLoader> loader(bool is_shuffled = false) const {
    std::vector<float> x;
    for (int64_t i = 1; i <= num_samples; ++i) x.push_back(static_cast<float>(i));
    const at::Tensor column = at::tensor(x).unsqueeze(1);
    return std::make_unique<DatasetLoader>(std::make_shared<TensorDataset>(Batch::of(column, column * 2)),
                                           LoaderOptions{.batch_size = batch_size, .shuffle = is_shuffled});
  }
  std::unique_ptr<DataLoader> train_dataloader() override { return loader(shuffles); }
  std::unique_ptr<DataLoader> val_dataloader() override { return has_validation ? loader() : nullptr; }
  std::unique_ptr<DataLoader> test_dataloader() override { return loader(); }
  std::unique_ptr<DataLoader> predict_dataloader() override { return loader(); }
  bool set_batch_size(int64_t size) override {
    batch_size = size;
    return true;
  }
  void teardown(Stage /*stage*/) override { ++num_teardowns; }

  int64_t num_samples;
  int64_t batch_size;
  bool shuffles = false;
  bool has_validation = false;
  int64_t num_teardowns = 0;
};

// Neither terminal nor files, on the CPU.
inline TrainerOptions quiet(TrainerOptions options) {
  options.accelerator = "cpu";
  options.enable_checkpointing = false;
  options.enable_progress_bar = false;
  options.enable_model_summary = false;
  options.logger = false;
  return options;
}

}  // namespace levin
