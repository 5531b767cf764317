#include "trainer/optim/sgd.h"

#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros_like.h>

namespace levin {
namespace {

constexpr size_t kMomentumBuffer = 0;

/// The usual update makes of this what the first update must be: b = g, whatever the dampening.
at::Tensor first_buffer(const at::Tensor& param, const at::Tensor& grad, const SgdOptions& options) {
  if (options.dampening == 0.0) return at::zeros_like(param);
  const at::Tensor gradient = (options.maximize ? -grad : grad).add(param, options.weight_decay);
  return gradient.mul(options.dampening / options.momentum);
}

}  // namespace

const std::vector<std::string>& SGD::state_names() const {
  static const std::vector<std::string> names = {"momentum_buffer"};
  return names;
}

std::vector<at::Tensor> SGD::initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const {
  return {fields(options).momentum > 0.0 ? at::zeros_like(parameter) : at::Tensor()};
}

void SGD::update(const AnyGroupOptions& options, Bucket& bucket) {
  const SgdOptions& o = fields(options);
  std::vector<at::Tensor>& buffers = bucket.state[kMomentumBuffer];
  const bool has_momentum = o.momentum > 0.0;
  for (size_t i = 0; has_momentum && i < bucket.params.size(); ++i) {
    // A schedule may have raised the momentum from 0.
    if (!bucket.owners[i]->is_new && buffers[i].defined()) continue;
    bucket.set_state(kMomentumBuffer, i, first_buffer(bucket.params[i], bucket.grads[i], o));
  }
  bucket.for_ranges([&](size_t begin, size_t count) {
    at::_fused_sgd_(range_of(bucket.params, begin, count), range_of(bucket.grads, begin, count),
                    has_momentum ? range_of(buffers, begin, count) : at::TensorList(), o.weight_decay, o.momentum, o.lr,
                    o.dampening, o.nesterov, o.maximize, /*is_first_step=*/false);
  });
}

}  // namespace levin
