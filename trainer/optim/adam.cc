#include "trainer/optim/adam.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>

#include "trainer/optim/adam_state.h"

namespace levin {
namespace {

template <class Kernel, class Options, class Bucket>
void update_with(Kernel kernel, const Options& o, Bucket& bucket) {
  auto& state = bucket.state;
  advance_steps(state[kStep]);
  bucket.for_ranges([&](size_t begin, size_t count) {
    const auto range = [&](const std::vector<at::Tensor>& tensors) { return range_of(tensors, begin, count); };
    kernel(range(bucket.params), range(bucket.grads), range(state[kExpAvg]), range(state[kExpAvgSq]),
           o.amsgrad ? range(state[kMaxExpAvgSq]) : at::TensorList(), range(state[kStep]), o.lr, o.betas[0], o.betas[1],
           o.weight_decay, o.eps, o.amsgrad, o.maximize);
  });
}

}  // namespace

const std::vector<std::string>& Adam::state_names() const { return adam_state_names(); }
const std::vector<std::string>& AdamW::state_names() const { return adam_state_names(); }

std::vector<at::Tensor> Adam::initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const {
  return initial_adam_state(parameter, fields(options).amsgrad);
}

std::vector<at::Tensor> AdamW::initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const {
  return initial_adam_state(parameter, fields(options).amsgrad);
}

void Adam::update(const AnyGroupOptions& options, Bucket& bucket) {
  update_with([](auto... arguments) { at::_fused_adam_(arguments...); }, fields(options), bucket);
}

void AdamW::update(const AnyGroupOptions& options, Bucket& bucket) {
  update_with([](auto... arguments) { at::_fused_adamw_(arguments...); }, fields(options), bucket);
}

}  // namespace levin
