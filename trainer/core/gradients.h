#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace levin {

/// The defined gradients of parameters, in order. Dense ones.
std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters);

/// L2 norm of all gradients together, a scalar on their device; 0 if there are none. No device synchronisation.
at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients);

/// Multiplies the gradients so that their norm is at most max_norm (> 0), by max_norm / (norm + 1e-6) where that is
/// below 1. Returns the norm before. No device synchronisation.
at::Tensor clip_gradient_norm(const std::vector<at::Tensor>& gradients, double max_norm);

/// Limits each element to [-max_value, max_value]; max_value > 0.
void clip_gradient_value(const std::vector<at::Tensor>& gradients, double max_value);

/// Multiplies all gradients by a number.
void scale_gradients(const std::vector<at::Tensor>& gradients, double factor);

}  // namespace levin
