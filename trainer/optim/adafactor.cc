#include "trainer/optim/adafactor.h"

#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cmath>
#include <limits>

#include "trainer/optim/adam_state.h"

namespace levin {
namespace {

enum AdafactorState : size_t { kSteps, kRowVar, kColVar, kVariance };

double machine_epsilon(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble: return std::numeric_limits<double>::epsilon();
    case at::kHalf: return std::numeric_limits<c10::Half>::epsilon();
    case at::kBFloat16: return std::numeric_limits<c10::BFloat16>::epsilon();
    default: return std::numeric_limits<float>::epsilon();
  }
}

at::Tensor reduced_zeros(const at::Tensor& parameter, int64_t dim) {
  std::vector<int64_t> shape = parameter.sizes().vec();
  shape[static_cast<size_t>(parameter.dim() + dim)] = 1;
  return at::zeros(shape, parameter.options());
}

/// Mean of the squares along one dimension, which stays with length 1.
at::Tensor mean_square(const at::Tensor& tensor, int64_t dim) {
  return at::linalg_vector_norm(tensor, 2, dim, /*keepdim=*/true).square_().div_(tensor.size(dim));
}

/// Root of the mean square [].
at::Tensor rms(const at::Tensor& tensor) {
  return at::linalg_vector_norm(tensor, 2).div_(std::sqrt(static_cast<double>(tensor.numel())));
}

}  // namespace

const std::vector<std::string>& Adafactor::state_names() const {
  static const std::vector<std::string> names = {"step", "row_var", "col_var", "variance"};
  return names;
}

std::vector<at::Tensor> Adafactor::initial_state(const at::Tensor& parameter,
                                                 const AnyGroupOptions& /*options*/) const {
  const at::Tensor step = new_step_counter(at::kCPU);
  if (parameter.dim() < 2) return {step, {}, {}, at::zeros_like(parameter)};
  return {step, reduced_zeros(parameter, -1), reduced_zeros(parameter, -2), {}};
}

void Adafactor::update(const AnyGroupOptions& options, Bucket& bucket) {
  const AdafactorOptions& o = fields(options);
  advance_steps(bucket.state[kSteps]);
  for (size_t i = 0; i < bucket.params.size(); ++i) {
    at::Tensor& param = bucket.params[i];
    const at::Tensor grad = o.maximize ? -bucket.grads[i] : bucket.grads[i];
    const double step = *bucket.state[kSteps][i].const_data_ptr<float>();
    const double eps1 = o.eps1.value_or(machine_epsilon(param.scalar_type()));
    const double weight = std::pow(step, o.beta2_decay);  // 1 - beta2
    const at::Tensor alpha = rms(param).clamp_min_(o.eps2).mul_(std::min(o.lr, 1.0 / std::sqrt(step)));
    if (o.weight_decay != 0.0) param.mul_(1.0 - o.lr * o.weight_decay);
    at::Tensor estimate;
    if (param.dim() > 1) {
      at::Tensor& row_var = bucket.state[kRowVar][i];
      at::Tensor& col_var = bucket.state[kColVar][i];
      row_var.lerp_(mean_square(grad, -1), weight);
      col_var.lerp_(mean_square(grad, -2), weight);
      estimate = row_var.matmul(col_var).div_(row_var.mean(-2, /*keepdim=*/true).clamp_min_(eps1));
    } else {
      bucket.state[kVariance][i].lerp_(grad.square(), weight);
      estimate = bucket.state[kVariance][i].clone();
    }
    at::Tensor update = estimate.clamp_min_(eps1 * eps1).rsqrt_().mul_(grad);
    const at::Tensor clipping = rms(update).div_(o.d).clamp_min_(1.0);
    param.sub_(update.mul_(alpha.div(clipping)));
  }
}

}  // namespace levin
