#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace levin {

/// What Adam and its kin keep for a parameter, in this order.
enum AdamState : size_t { kStep, kExpAvg, kExpAvgSq, kMaxExpAvgSq };

const std::vector<std::string>& adam_state_names();

/// Zeros; the step is a float32 on the parameter's device, where the fused kernels look for it.
std::vector<at::Tensor> initial_adam_state(const at::Tensor& parameter, bool amsgrad);

/// The counter of steps: float32, 0-dim, 0.
at::Tensor new_step_counter(at::Device device);

}  // namespace levin
