#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <memory>

#include "trainer/core/lightning_module.h"

namespace levin {

// Weights that tests set by hand: `weight` [2], the same tensor as `tied`, the buffer `mean` [1], the counter `count`.
struct TinyModule : LightningModule {
  explicit TinyModule(at::ScalarType dtype = at::kFloat) {
    weight = register_parameter("weight", at::zeros({2}, dtype));
    register_parameter("tied", weight);
    mean = register_buffer("mean", at::zeros({1}, dtype));
    count = register_buffer("count", at::zeros({}, at::kLong));
  }
  StepOutput training_step(const Batch& /*batch*/, StepContext& /*ctx*/) override { return StepOutput::skip(); }

  void set_weight(double value) { weight.detach().fill_(value); }
  double value() const { return weight[0].item<double>(); }

  at::Tensor weight, mean, count;
};

}  // namespace levin
