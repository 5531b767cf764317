#include "trainer/optim/adam_state.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace levin {

const std::vector<std::string>& adam_state_names() {
  static const std::vector<std::string> names = {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  return names;
}

at::Tensor new_step_counter(at::Device device) {
  return at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(device));
}

std::vector<at::Tensor> initial_adam_state(const at::Tensor& parameter, bool amsgrad) {
  return {new_step_counter(parameter.device()), at::zeros_like(parameter), at::zeros_like(parameter),
          amsgrad ? at::zeros_like(parameter) : at::Tensor()};
}

}  // namespace levin
