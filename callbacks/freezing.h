#pragma once

#include <torch/nn/module.h>

#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// The submodule with a dotted name, as in "encoder.layers.0"; "" is the module itself. Errors: ConfigError, which
/// lists the children at the place where the name leads nowhere, and the nearest of them. `owner`: who asks.
torch::nn::Module& find_submodule(torch::nn::Module& module, std::string_view name, std::string_view owner);

/// True for BatchNorm and its like: a module with a buffer "running_mean" of its own.
bool has_running_statistics(const torch::nn::Module& module);

/// The parameters of the module and below that freeze() freezes: all, or those outside of modules with running
/// statistics if train_bn. A tied parameter may be there twice.
std::vector<at::Tensor> freezable_parameters(const torch::nn::Module& module, bool train_bn);

/// No gradients for these parameters any more; those they have are dropped, so that optimizers leave them alone.
/// Without train_bn the modules with running statistics also go to eval mode, where the statistics stay (until train()
/// is called on them).
void freeze(torch::nn::Module& module, bool train_bn = true);

/// Modules with running statistics, in the module and below, go to the mode of `module`.
void thaw_running_statistics(torch::nn::Module& module);

/// Gradients for all parameters of the module and below that can have one; thaw_running_statistics().
void unfreeze(torch::nn::Module& module);

}  // namespace levin
