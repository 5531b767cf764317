#include "trainer/optim/adagrad.h"

#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/full_like.h>

#include "trainer/optim/adam_state.h"

namespace levin {
namespace {

constexpr size_t kSum = 1;  // after kStep

}  // namespace

const std::vector<std::string>& Adagrad::state_names() const {
  static const std::vector<std::string> names = {"step", "sum"};
  return names;
}

std::vector<at::Tensor> Adagrad::initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const {
  return {new_step_counter(parameter.device()), at::full_like(parameter, fields(options).initial_accumulator_value)};
}

void Adagrad::update(const AnyGroupOptions& options, Bucket& bucket) {
  const AdagradOptions& o = fields(options);
  advance_steps(bucket.state[kStep]);
  bucket.for_ranges([&](size_t begin, size_t count) {
    at::_fused_adagrad_(range_of(bucket.params, begin, count), range_of(bucket.grads, begin, count),
                        range_of(bucket.state[kSum], begin, count), range_of(bucket.state[kStep], begin, count), o.lr,
                        o.lr_decay, o.weight_decay, o.eps, o.maximize);
  });
}

}  // namespace levin
