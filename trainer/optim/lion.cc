#include "trainer/optim/lion.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_neg.h>
#include <ATen/ops/_foreach_sign.h>
#include <ATen/ops/zeros_like.h>

namespace levin {
namespace {

constexpr size_t kExpAvg = 0;

}  // namespace

const std::vector<std::string>& Lion::state_names() const {
  static const std::vector<std::string> names = {"exp_avg"};
  return names;
}

std::vector<at::Tensor> Lion::initial_state(const at::Tensor& parameter, const AnyGroupOptions& /*options*/) const {
  return {at::zeros_like(parameter)};
}

void Lion::update(const AnyGroupOptions& options, Bucket& bucket) {
  const LionOptions& o = fields(options);
  std::vector<at::Tensor> negated;
  if (o.maximize) negated = at::_foreach_neg(bucket.grads);
  const std::vector<at::Tensor>& grads = o.maximize ? negated : bucket.grads;
  auto& exp_avg = bucket.state[kExpAvg];
  std::vector<at::Tensor> direction = at::_foreach_lerp(exp_avg, grads, 1.0 - o.betas[0]);
  at::_foreach_sign_(direction);
  if (o.weight_decay != 0.0) at::_foreach_mul_(bucket.params, 1.0 - o.lr * o.weight_decay);
  at::_foreach_add_(bucket.params, direction, -o.lr);
  at::_foreach_lerp_(exp_avg, grads, 1.0 - o.betas[1]);
}

}  // namespace levin
