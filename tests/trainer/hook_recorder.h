#pragma once

#include <string>
#include <utility>
#include <vector>

#include "callbacks/callback.h"
#include "tests/trainer/tiny_model.h"

namespace levin {

using Calls = std::vector<std::string>;

// Every hook writes "<who>.<hook>" into a list.
// NOLINTBEGIN(bugprone-macro-parentheses, cppcoreguidelines-macro-usage): a hundred hooks of the same form.
#define LEVIN_RECORD(hook, ...) \
  void hook(__VA_ARGS__) override { add(#hook); }

class HookRecorder final : public Callback {
 public:
  HookRecorder(std::string name, Calls& calls, bool is_last = false)
      : name_(std::move(name)), calls_(calls), is_last_(is_last) {}

  LEVIN_RECORD(setup, const RunContext&)
  LEVIN_RECORD(teardown, const RunContext&)
  LEVIN_RECORD(on_after_configure_optimizers, const RunContext&)
  LEVIN_RECORD(on_fit_start, const RunContext&)
  LEVIN_RECORD(on_fit_end, const RunContext&)
  LEVIN_RECORD(on_sanity_check_start, const RunContext&)
  LEVIN_RECORD(on_sanity_check_end, const RunContext&)
  LEVIN_RECORD(on_train_start, const RunContext&)
  LEVIN_RECORD(on_train_end, const RunContext&)
  LEVIN_RECORD(on_train_epoch_start, const RunContext&)
  LEVIN_RECORD(on_train_epoch_end, const RunContext&)
  LEVIN_RECORD(on_train_batch_start, const RunContext&, const Batch&)
  LEVIN_RECORD(on_train_batch_end, const RunContext&, const StepOutput&, const Batch&)
  LEVIN_RECORD(on_before_backward, const RunContext&, const at::Tensor&)
  LEVIN_RECORD(on_after_backward, const RunContext&)
  LEVIN_RECORD(on_before_optimizer_step, const RunContext&)
  LEVIN_RECORD(on_before_zero_grad, const RunContext&)
  LEVIN_RECORD(on_validation_start, const RunContext&)
  LEVIN_RECORD(on_validation_epoch_start, const RunContext&)
  LEVIN_RECORD(on_validation_batch_start, const RunContext&, const Batch&)
  LEVIN_RECORD(on_validation_batch_end, const RunContext&, const Batch&)
  LEVIN_RECORD(on_validation_epoch_end, const RunContext&)
  LEVIN_RECORD(on_validation_end, const RunContext&)
  LEVIN_RECORD(on_test_start, const RunContext&)
  LEVIN_RECORD(on_test_epoch_start, const RunContext&)
  LEVIN_RECORD(on_test_batch_start, const RunContext&, const Batch&)
  LEVIN_RECORD(on_test_batch_end, const RunContext&, const Batch&)
  LEVIN_RECORD(on_test_epoch_end, const RunContext&)
  LEVIN_RECORD(on_test_end, const RunContext&)
  LEVIN_RECORD(on_predict_start, const RunContext&)
  LEVIN_RECORD(on_predict_epoch_start, const RunContext&)
  LEVIN_RECORD(on_predict_batch_start, const RunContext&, const Batch&)
  LEVIN_RECORD(on_predict_batch_end, const RunContext&, const Batch&, const Batch&)
  LEVIN_RECORD(on_predict_epoch_end, const RunContext&)
  LEVIN_RECORD(on_predict_end, const RunContext&)
  void on_exception(const RunContext& /*run*/, const std::exception& /*error*/) noexcept override {
    add("on_exception");
  }
  bool runs_last() const override { return is_last_; }

 private:
  void add(const char* hook) { calls_.push_back(name_ + "." + hook); }

  std::string name_;
  Calls& calls_;
  bool is_last_;
};

// y = w x as TinyModel.
class RecordedModel final : public LightningModule {
 public:
  explicit RecordedModel(Calls& calls) : calls_(calls) { w = register_parameter("w", torch::zeros({1, 1})); }

  StepOutput training_step(const Batch& batch, StepContext& ctx) override {
    add("training_step");
    ctx.log("train_loss", loss(batch));
    return loss(batch);
  }
  void validation_step(const Batch& batch, StepContext& ctx) override {
    add("validation_step");
    ctx.log("val_loss", loss(batch));
  }
  void test_step(const Batch& batch, StepContext& ctx) override {
    add("test_step");
    ctx.log("test_loss", loss(batch));
  }
  Batch predict_step(const Batch& batch, StepContext& /*ctx*/) override {
    add("predict_step");
    return batch[0].tensor().matmul(w);
  }
  Optimizers configure_optimizers() override {
    add("configure_optimizers");
    return std::make_unique<torch::optim::SGD>(parameters(), 0.01);
  }
  bool on_train_batch_start(const Batch& /*batch*/, StepContext& ctx) override {
    add("on_train_batch_start");
    return !(leaves_out_batch && *leaves_out_batch == ctx.batch_idx());
  }
  void on_before_optimizer_step(Optimizer& /*optimizer*/, StepContext& /*ctx*/) override {
    add("on_before_optimizer_step");
  }
  void configure_gradient_clipping(GradientClipping& clipping, StepContext& ctx) override {
    add("configure_gradient_clipping");
    LightningModule::configure_gradient_clipping(clipping, ctx);
  }
  Batch on_before_batch_transfer(Batch batch, Stage /*stage*/) override {
    add("on_before_batch_transfer");
    return batch;
  }
  Batch on_after_batch_transfer(Batch batch, Stage /*stage*/) override {
    add("on_after_batch_transfer");
    return batch;
  }

  LEVIN_RECORD(setup, Stage)
  LEVIN_RECORD(teardown, Stage)
  LEVIN_RECORD(configure_model)
  LEVIN_RECORD(on_fit_start, StepContext&)
  LEVIN_RECORD(on_fit_end, StepContext&)
  LEVIN_RECORD(on_train_start, StepContext&)
  LEVIN_RECORD(on_train_end, StepContext&)
  LEVIN_RECORD(on_train_epoch_start, StepContext&)
  LEVIN_RECORD(on_train_epoch_end, StepContext&)
  LEVIN_RECORD(on_train_batch_end, const StepOutput&, const Batch&, StepContext&)
  LEVIN_RECORD(on_before_backward, const at::Tensor&, StepContext&)
  LEVIN_RECORD(on_after_backward, StepContext&)
  LEVIN_RECORD(on_before_zero_grad, StepContext&)
  LEVIN_RECORD(on_validation_start, StepContext&)
  LEVIN_RECORD(on_validation_epoch_start, StepContext&)
  LEVIN_RECORD(on_validation_batch_start, const Batch&, StepContext&)
  LEVIN_RECORD(on_validation_batch_end, const Batch&, StepContext&)
  LEVIN_RECORD(on_validation_epoch_end, StepContext&)
  LEVIN_RECORD(on_validation_end, StepContext&)
  LEVIN_RECORD(on_test_start, StepContext&)
  LEVIN_RECORD(on_test_epoch_start, StepContext&)
  LEVIN_RECORD(on_test_batch_start, const Batch&, StepContext&)
  LEVIN_RECORD(on_test_batch_end, const Batch&, StepContext&)
  LEVIN_RECORD(on_test_epoch_end, StepContext&)
  LEVIN_RECORD(on_test_end, StepContext&)
  LEVIN_RECORD(on_predict_start, StepContext&)
  LEVIN_RECORD(on_predict_epoch_start, StepContext&)
  LEVIN_RECORD(on_predict_batch_start, const Batch&, StepContext&)
  LEVIN_RECORD(on_predict_batch_end, const Batch&, const Batch&, StepContext&)
  LEVIN_RECORD(on_predict_epoch_end, StepContext&)
  LEVIN_RECORD(on_predict_end, StepContext&)

  at::Tensor loss(const Batch& batch) const { return at::mse_loss(batch[0].tensor().matmul(w), batch[1].tensor()); }

  at::Tensor w;
  std::optional<int64_t> leaves_out_batch;

 private:
  void add(const char* hook) const { calls_.push_back(std::string("module.") + hook); }

  Calls& calls_;
};

class RecordedData final : public LightningDataModule {
 public:
  RecordedData(Calls& calls, int64_t num_samples, int64_t batch_size) : calls_(calls), data_(num_samples, batch_size) {}

  std::unique_ptr<DataLoader> train_dataloader() override { return add("train_dataloader"), data_.loader(); }
  std::unique_ptr<DataLoader> val_dataloader() override { return add("val_dataloader"), data_.loader(); }
  std::unique_ptr<DataLoader> test_dataloader() override { return add("test_dataloader"), data_.loader(); }
  std::unique_ptr<DataLoader> predict_dataloader() override { return add("predict_dataloader"), data_.loader(); }
  Batch on_before_batch_transfer(Batch batch, Stage /*stage*/) override {
    add("on_before_batch_transfer");
    return batch;
  }
  Batch on_after_batch_transfer(Batch batch, Stage /*stage*/) override {
    add("on_after_batch_transfer");
    return batch;
  }
  LEVIN_RECORD(prepare_data)
  LEVIN_RECORD(setup, Stage)
  LEVIN_RECORD(teardown, Stage)
  void on_exception(const std::exception& /*error*/) noexcept override { add("on_exception"); }

 private:
  void add(const char* hook) const { calls_.push_back(std::string("data.") + hook); }

  Calls& calls_;
  TinyData data_;
};
#undef LEVIN_RECORD
// NOLINTEND(bugprone-macro-parentheses, cppcoreguidelines-macro-usage)

}  // namespace levin
