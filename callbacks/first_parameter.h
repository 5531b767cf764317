#pragma once

#include <ATen/core/Tensor.h>

namespace levin {

class LightningModule;

/// The first parameter of a floating-point type, whose device and type stand for those of the module; undefined if
/// there is none.
at::Tensor first_parameter(const LightningModule& module);

}  // namespace levin
