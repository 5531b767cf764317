#pragma once

#include <exception>
#include <functional>

#include "callbacks/callback.h"

namespace levin {

/// A callback made of functions, for what is too small for a class of its own:
///
///   auto stop_at_noon = std::make_shared<LambdaCallback>(LambdaCallback::Hooks{
///       .on_train_epoch_end = [](const RunContext& run) { if (is_noon()) run.control.request_stop("It is noon."); },
///   });
///
/// Each function is called as the hook of Callback that has its name, with what that hook gets; what it throws ends the
/// run as there. What a function captures must outlive the callback. It keeps no state in checkpoints. C++ only.
class LambdaCallback final : public Callback {
 public:
  using RunHook = std::function<void(const RunContext&)>;
  using BatchHook = std::function<void(const RunContext&, const Batch&)>;

  /// In this order, that of Callback; those that are left out do nothing.
  struct Hooks {
    RunHook setup = nullptr;
    RunHook teardown = nullptr;
    RunHook on_after_configure_optimizers = nullptr;
    RunHook on_fit_start = nullptr;
    RunHook on_fit_end = nullptr;
    RunHook on_sanity_check_start = nullptr;
    RunHook on_sanity_check_end = nullptr;
    RunHook on_train_start = nullptr;
    RunHook on_train_end = nullptr;
    RunHook on_train_epoch_start = nullptr;
    RunHook on_train_epoch_end = nullptr;
    BatchHook on_train_batch_start = nullptr;
    std::function<void(const RunContext&, const StepOutput&, const Batch&)> on_train_batch_end = nullptr;

    std::function<void(const RunContext&, const at::Tensor&)> on_before_backward = nullptr;
    RunHook on_after_backward = nullptr;
    RunHook on_before_optimizer_step = nullptr;
    RunHook on_before_zero_grad = nullptr;

    RunHook on_validation_start = nullptr;
    RunHook on_validation_epoch_start = nullptr;
    BatchHook on_validation_batch_start = nullptr;
    BatchHook on_validation_batch_end = nullptr;
    RunHook on_validation_epoch_end = nullptr;
    RunHook on_validation_end = nullptr;

    RunHook on_test_start = nullptr;
    RunHook on_test_epoch_start = nullptr;
    BatchHook on_test_batch_start = nullptr;
    BatchHook on_test_batch_end = nullptr;
    RunHook on_test_epoch_end = nullptr;
    RunHook on_test_end = nullptr;

    RunHook on_predict_start = nullptr;
    RunHook on_predict_epoch_start = nullptr;
    BatchHook on_predict_batch_start = nullptr;
    std::function<void(const RunContext&, const Batch&, const Batch&)> on_predict_batch_end = nullptr;
    RunHook on_predict_epoch_end = nullptr;
    RunHook on_predict_end = nullptr;

    /// What it throws is dropped: the first error is the one to report.
    std::function<void(const RunContext&, const std::exception&)> on_exception = nullptr;
    std::function<void(const RunContext&, StateDict&)> on_save_checkpoint = nullptr;

    /// Called after the callbacks that do not run last.
    bool runs_last = false;
  };

  explicit LambdaCallback(Hooks hooks);

  void setup(const RunContext& run) override;
  void teardown(const RunContext& run) override;
  void on_after_configure_optimizers(const RunContext& run) override;
  void on_fit_start(const RunContext& run) override;
  void on_fit_end(const RunContext& run) override;
  void on_sanity_check_start(const RunContext& run) override;
  void on_sanity_check_end(const RunContext& run) override;
  void on_train_start(const RunContext& run) override;
  void on_train_end(const RunContext& run) override;
  void on_train_epoch_start(const RunContext& run) override;
  void on_train_epoch_end(const RunContext& run) override;
  void on_train_batch_start(const RunContext& run, const Batch& batch) override;
  void on_train_batch_end(const RunContext& run, const StepOutput& output, const Batch& batch) override;

  void on_before_backward(const RunContext& run, const at::Tensor& loss) override;
  void on_after_backward(const RunContext& run) override;
  void on_before_optimizer_step(const RunContext& run) override;
  void on_before_zero_grad(const RunContext& run) override;

  void on_validation_start(const RunContext& run) override;
  void on_validation_epoch_start(const RunContext& run) override;
  void on_validation_batch_start(const RunContext& run, const Batch& batch) override;
  void on_validation_batch_end(const RunContext& run, const Batch& batch) override;
  void on_validation_epoch_end(const RunContext& run) override;
  void on_validation_end(const RunContext& run) override;

  void on_test_start(const RunContext& run) override;
  void on_test_epoch_start(const RunContext& run) override;
  void on_test_batch_start(const RunContext& run, const Batch& batch) override;
  void on_test_batch_end(const RunContext& run, const Batch& batch) override;
  void on_test_epoch_end(const RunContext& run) override;
  void on_test_end(const RunContext& run) override;

  void on_predict_start(const RunContext& run) override;
  void on_predict_epoch_start(const RunContext& run) override;
  void on_predict_batch_start(const RunContext& run, const Batch& batch) override;
  void on_predict_batch_end(const RunContext& run, const Batch& predictions, const Batch& batch) override;
  void on_predict_epoch_end(const RunContext& run) override;
  void on_predict_end(const RunContext& run) override;

  void on_exception(const RunContext& run, const std::exception& error) noexcept override;
  void on_save_checkpoint(const RunContext& run, StateDict& model) override;

  bool runs_last() const override { return hooks_.runs_last; }

 private:
  Hooks hooks_;
};

}  // namespace levin
