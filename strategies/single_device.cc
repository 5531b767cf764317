#include "strategies/single_device.h"

#include <torch/nn/module.h>

#include "trainer/core/gradients.h"
#include "trainer/core/module_state.h"

namespace levin {

void SingleDeviceStrategy::setup(torch::nn::Module& module) { module.to(device_); }

void SingleDeviceStrategy::backward(const at::Tensor& loss, GradSync /*sync*/) { loss.backward(); }

void SingleDeviceStrategy::optimizer_step(Optimizer& optimizer) { optimizer.step(); }

at::Tensor SingleDeviceStrategy::clip_gradient_norm(const std::vector<at::Tensor>& parameters, double max_norm) {
  return levin::clip_gradient_norm(gradients_of(parameters), max_norm);
}

StateDict SingleDeviceStrategy::model_state(torch::nn::Module& module) { return module_state(module); }

void SingleDeviceStrategy::load_model_state(torch::nn::Module& module, const StateDict& state) {
  levin::load_module_state(module, state);
}

}  // namespace levin
