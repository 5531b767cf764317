#pragma once

#include <torch/nn/module.h>

#include "trainer/core/optimizers.h"

namespace levin {

/// The defined parameters of a module under their full names, as "encoder.weight". A tied tensor is there under each of
/// its names. The tensors are the module's own.
NamedParameters named_parameters(const torch::nn::Module& module);

}  // namespace levin
