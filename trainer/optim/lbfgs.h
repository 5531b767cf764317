#pragma once

#include <torch/optim/optimizer.h>

#include <memory>
#include <vector>

#include "trainer/optim/optimizer_options.h"

namespace levin {

/// LibTorch's LBFGS (Nocedal, Wright 2006, chapter 7), whose step() calls a closure several times: it must make the
/// gradients anew and return the loss. Errors: ConfigError, which names each option with a forbidden value.
std::unique_ptr<torch::optim::Optimizer> make_lbfgs(std::vector<at::Tensor> parameters, const LbfgsOptions& options);

}  // namespace levin
