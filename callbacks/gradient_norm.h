#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <string>
#include <vector>

namespace levin {

/// The gradients of a module's parameters, of those that have one; of a tied parameter once.
struct NamedGradients {
  std::vector<std::string> names;   ///< Of the parameters.
  std::vector<at::Tensor> tensors;  ///< A sparse gradient is there as its values.
};

NamedGradients gradients_of(const torch::nn::Module& module);

/// The p-norm of each tensor, [n] float32 (float64 if one is), on the device of the first one. p > 0, or infinity. One
/// foreach call; where all are on one device it is not synchronised. Errors: InternalError if there is no tensor.
at::Tensor norms_of(const std::vector<at::Tensor>& tensors, double p);

/// The p-norm of all numbers together, a scalar tensor, from norms_of().
at::Tensor total_norm(const at::Tensor& norms, double p);

}  // namespace levin
