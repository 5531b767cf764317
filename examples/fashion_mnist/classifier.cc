#include "examples/fashion_mnist/classifier.h"

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include "trainer/load_from_checkpoint.h"
#include "trainer/optim/adam.h"

namespace nn = torch::nn;
namespace F = torch::nn::functional;

void FashionMnistClassifier::Options::visit(levin::OptionVisitor& visitor) {
  visitor.field("hidden_size", hidden_size, "units between the two linear layers", levin::at_least(1));
  visitor.field("dropout", dropout, "probability that a hidden unit is dropped", levin::between(0, 1));
}

FashionMnistClassifier::FashionMnistClassifier(const Options& options)
    : options_(options),
      network_(nn::Conv2d(nn::Conv2dOptions(1, 32, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),   // [B, 32, 14, 14]
               nn::Conv2d(nn::Conv2dOptions(32, 64, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),  // [B, 64, 7, 7]
               nn::Flatten(), nn::Linear(64 * 7 * 7, options.hidden_size), nn::ReLU(), nn::Dropout(options.dropout),
               nn::Linear(options.hidden_size, 10)) {
  register_module("network", network_);
}

levin::StepOutput FashionMnistClassifier::training_step(const levin::Batch& batch, levin::StepContext& ctx) {
  const auto [images, labels] = batch.tensors<2>();
  const at::Tensor loss = F::cross_entropy(network_->forward(images), labels);
  ctx.log("train_loss", loss);  // the progress bar shows the loss anyway
  return loss;
}

FashionMnistClassifier::Evaluation FashionMnistClassifier::evaluate(const levin::Batch& batch) {
  const auto [images, labels] = batch.tensors<2>();
  const at::Tensor logits = network_->forward(images);
  return {F::cross_entropy(logits, labels), (logits.argmax(1) == labels).to(at::kDouble).mean()};
}

void FashionMnistClassifier::validation_step(const levin::Batch& batch, levin::StepContext& ctx) {
  const Evaluation result = evaluate(batch);
  ctx.log("val_loss", result.loss, {.prog_bar = true});
  ctx.log("val_acc", result.accuracy, {.prog_bar = true});
}

void FashionMnistClassifier::test_step(const levin::Batch& batch, levin::StepContext& ctx) {
  const Evaluation result = evaluate(batch);
  ctx.log("test_loss", result.loss);
  ctx.log("test_acc", result.accuracy);
}

levin::Batch FashionMnistClassifier::predict_step(const levin::Batch& batch, levin::StepContext& /*ctx*/) {
  const auto [images, labels] = batch.tensors<2>();
  const at::Tensor probability = network_->forward(images).softmax(1);
  return levin::Batch::Fields{{"class", probability.argmax(1)}, {"probability", probability}};
}

levin::Optimizers FashionMnistClassifier::configure_optimizers() {
  return std::make_unique<levin::AdamW>(parameters(), levin::AdamWOptions{.lr = 1e-3});
}

levin::StateDict FashionMnistClassifier::hyperparameters() const { return levin::to_hyperparameters(options_); }
