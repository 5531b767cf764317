#include "trainer/core/gradients.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace levin {
namespace {

constexpr double kNormEpsilon = 1e-6;  // as torch.nn.utils.clip_grad_norm_

}  // namespace

std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) {
    if (parameter.defined() && parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients) {
  if (gradients.empty()) return at::zeros({});
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms = at::_foreach_norm(gradients, 2);
  for (at::Tensor& norm : norms) norm = norm.to(gradients.front().device());
  return at::linalg_vector_norm(at::stack(norms), 2);
}

at::Tensor clip_gradient_norm(const std::vector<at::Tensor>& gradients, double max_norm) {
  at::Tensor norm = gradient_norm(gradients);
  if (gradients.empty()) return norm;
  const at::NoGradGuard no_grad;
  at::_foreach_mul_(gradients, norm.add(kNormEpsilon).reciprocal().mul(max_norm).clamp_max(1.0));
  return norm;
}

void clip_gradient_value(const std::vector<at::Tensor>& gradients, double max_value) {
  if (gradients.empty()) return;
  const at::NoGradGuard no_grad;
  at::_foreach_clamp_min_(gradients, -max_value);
  at::_foreach_clamp_max_(gradients, max_value);
}

void scale_gradients(const std::vector<at::Tensor>& gradients, double factor) {
  if (gradients.empty()) return;
  const at::NoGradGuard no_grad;
  at::_foreach_mul_(gradients, factor);
}

}  // namespace levin
