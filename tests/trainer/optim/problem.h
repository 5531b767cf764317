#pragma once

// The small problem of tests/parity/optimizers/golden.py, number by number.

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/remainder.h>

#include <vector>

#include "trainer/core/optimizers.h"

namespace levin {

inline at::Tensor problem_index(const at::Tensor& parameter) {
  return at::arange(parameter.numel(), at::kLong).reshape(parameter.sizes());
}

/// float64: hidden.weight [3, 4], tall.weight [6, 2], hidden.bias [5].
inline NamedParameters problem_parameters() {
  const auto make = [](at::IntArrayRef shape) {
    int64_t numel = 1;
    for (const int64_t size : shape) numel *= size;
    const at::Tensor index = at::arange(numel, at::kLong);
    return ((index * 5).remainder(7) - 3).to(at::kDouble).div(4).reshape(shape).requires_grad_();
  };
  return {{"hidden.weight", make({3, 4})}, {"tall.weight", make({6, 2})}, {"hidden.bias", make({5})}};
}

inline std::vector<at::Tensor> tensors_of(const NamedParameters& parameters) {
  std::vector<at::Tensor> result;
  for (const auto& [name, tensor] : parameters) result.push_back(tensor);
  return result;
}

inline void set_problem_gradients(const NamedParameters& parameters, int64_t step) {
  for (size_t j = 0; j < parameters.size(); ++j) {
    const at::Tensor& p = parameters[j].second;
    const at::Tensor number = (problem_index(p) * 7 + 3 * step + static_cast<int64_t>(j)).remainder(11) - 5;
    p.mutable_grad() = p.detach() * 0.5 + number.to(at::kDouble).div(10);
  }
}

/// For LBFGS: makes the gradients, returns the loss.
inline at::Tensor problem_loss(const NamedParameters& parameters) {
  at::Tensor loss;
  for (size_t j = 0; j < parameters.size(); ++j) {
    const at::Tensor& p = parameters[j].second;
    const at::Tensor q = p.detach();
    const at::Tensor index = problem_index(p);
    const auto offset = static_cast<int64_t>(j);
    const at::Tensor curvature = ((index * 3 + offset).remainder(5) + 1).to(at::kDouble).div(4);
    const at::Tensor target = ((index * 2 + offset).remainder(7) - 3).to(at::kDouble).div(5);
    p.mutable_grad() = curvature * (q - target) + at::pow(q, 3) * 0.2;
    const at::Tensor part = (curvature * (q - target).square() / 2 + at::pow(q, 4) * 0.05).sum();
    loss = loss.defined() ? loss + part : part;
  }
  return loss;
}

}  // namespace levin
