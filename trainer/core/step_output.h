#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

namespace levin {

/// What training_step returns: a mean loss, a loss sum with its weight, or nothing.
///
///   return loss;                       // the mean over the samples of the batch
///   return {loss_sum, num_tokens};     // a sum and its weight: the loss is their quotient
///   return levin::StepOutput::skip();  // nothing to learn from this batch
///
/// The loss is a scalar tensor of floating type that depends on the parameters.
class StepOutput {
 public:
  StepOutput(at::Tensor loss) : loss_(std::move(loss)) {}  // implicit on purpose: a loss is a step output
  /// weight > 0: number of samples or tokens that the sum runs over.
  StepOutput(at::Tensor loss_sum, double weight) : loss_(std::move(loss_sum)), weight_(weight), is_weighted_(true) {}

  static StepOutput skip() { return StepOutput(); }

  bool is_skip() const { return is_skip_; }
  /// True if the loss is a sum that must be divided by weight().
  bool is_weighted() const { return is_weighted_; }
  const at::Tensor& loss() const { return loss_; }
  double weight() const { return weight_; }

 private:
  StepOutput() : is_skip_(true) {}

  at::Tensor loss_;
  double weight_ = 1.0;
  bool is_weighted_ = false;
  bool is_skip_ = false;
};

}  // namespace levin
