#include "trainer/optim/rmsprop.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_neg.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/zeros_like.h>

namespace levin {
namespace {

enum RmspropState : size_t { kSquareAvg, kMomentumBuffer, kGradAvg };

}  // namespace

const std::vector<std::string>& RMSprop::state_names() const {
  static const std::vector<std::string> names = {"square_avg", "momentum_buffer", "grad_avg"};
  return names;
}

std::vector<at::Tensor> RMSprop::initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const {
  const RmspropOptions& o = fields(options);
  return {at::zeros_like(parameter), o.momentum > 0.0 ? at::zeros_like(parameter) : at::Tensor(),
          o.centered ? at::zeros_like(parameter) : at::Tensor()};
}

void RMSprop::update(const AnyGroupOptions& options, Bucket& bucket) {
  const RmspropOptions& o = fields(options);
  std::vector<at::Tensor> changed;  // the gradients are not ours to change
  if (o.maximize) changed = at::_foreach_neg(bucket.grads);
  if (o.weight_decay != 0.0)
    changed = at::_foreach_add(o.maximize ? changed : bucket.grads, bucket.params, o.weight_decay);
  const std::vector<at::Tensor>& grads = changed.empty() ? bucket.grads : changed;

  auto& square_avg = bucket.state[kSquareAvg];
  at::_foreach_mul_(square_avg, o.alpha);
  at::_foreach_addcmul_(square_avg, grads, grads, 1.0 - o.alpha);
  std::vector<at::Tensor> divisor;
  if (o.centered) {
    at::_foreach_lerp_(bucket.state[kGradAvg], grads, 1.0 - o.alpha);
    divisor = at::_foreach_addcmul(square_avg, bucket.state[kGradAvg], bucket.state[kGradAvg], -1.0);
    at::_foreach_sqrt_(divisor);
  } else {
    divisor = at::_foreach_sqrt(square_avg);
  }
  at::_foreach_add_(divisor, o.eps);
  if (o.momentum > 0.0) {
    bucket.make_missing(kMomentumBuffer);
    at::_foreach_mul_(bucket.state[kMomentumBuffer], o.momentum);
    at::_foreach_addcdiv_(bucket.state[kMomentumBuffer], grads, divisor);
    at::_foreach_add_(bucket.params, bucket.state[kMomentumBuffer], -o.lr);
  } else {
    at::_foreach_addcdiv_(bucket.params, grads, divisor, -o.lr);
  }
}

}  // namespace levin
