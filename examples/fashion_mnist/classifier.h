#pragma once

#include <torch/nn/modules/container/sequential.h>

#include "trainer/core/lightning_module.h"
#include "trainer/core/option_visitor.h"

/// A small convolutional network for grey images of 28 x 28 pixels: two convolutions, each with ReLU and 2 x 2
/// max-pooling, then two linear layers with dropout between them. A batch is [images float32 [B, 1, 28, 28], labels
/// int64 [B]].
///
/// Logs train_loss, val_loss, val_acc, test_loss and test_acc.
class FashionMnistClassifier : public levin::LightningModule {
 public:
  struct Options {
    int64_t hidden_size = 128;
    double dropout = 0.25;
    void visit(levin::OptionVisitor& visitor);
  };

  explicit FashionMnistClassifier(const Options& options);
  FashionMnistClassifier() : FashionMnistClassifier(Options()) {}

  levin::StepOutput training_step(const levin::Batch& batch, levin::StepContext& ctx) override;
  void validation_step(const levin::Batch& batch, levin::StepContext& ctx) override;
  void test_step(const levin::Batch& batch, levin::StepContext& ctx) override;
  /// Fields: class int64 [B], probability float32 [B, 10].
  levin::Batch predict_step(const levin::Batch& batch, levin::StepContext& ctx) override;
  levin::Optimizers configure_optimizers() override;
  levin::StateDict hyperparameters() const override;

 private:
  struct Evaluation {
    at::Tensor loss;
    at::Tensor accuracy;
  };
  Evaluation evaluate(const levin::Batch& batch);

  Options options_;
  torch::nn::Sequential network_;
};
