#include "trainer/optim/bucketed_optimizer.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"
#include "trainer/core/single_thread_guard.h"

namespace levin {
namespace {

at::Tensor real_view(const at::Tensor& tensor) { return tensor.is_complex() ? at::view_as_real(tensor) : tensor; }

bool same_kind(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.device() == b.device();
}

/// From here on, a CPU parameter is worth all threads: some 20 microseconds of work.
constexpr int64_t kLargeNumel = 32768;

bool is_large(const at::Tensor& param) { return !param.device().is_cpu() || param.numel() >= kLargeNumel; }

}  // namespace

void advance_steps(std::vector<at::Tensor>& steps) {
  if (steps.front().device().is_cpu()) {
    for (at::Tensor& step : steps) *step.mutable_data_ptr<float>() += 1.0f;
  } else {
    at::_foreach_add_(steps, 1);
  }
}

void BucketedOptimizer::Bucket::set_state(size_t k, size_t i, const at::Tensor& tensor) {
  state[k][i] = tensor;
  owners[i]->tensors[k] = tensor;
}

void BucketedOptimizer::Bucket::for_ranges(c10::function_ref<void(size_t, size_t)> kernel) const {
  if (num_large > 0) kernel(0, num_large);
  const auto begin = static_cast<int64_t>(num_large);
  const auto end = static_cast<int64_t>(params.size());
  if (begin == end) return;
  if (small_numel < 2 * kLargeNumel) {
    const SingleThreadGuard on_this_thread;
    kernel(num_large, params.size() - num_large);
    return;
  }
  const int64_t grain_size = ((end - begin) * kLargeNumel + small_numel - 1) / small_numel;
  // Inside of a parallel region the kernels start no threads.
  at::parallel_for(begin, end, grain_size, [&](int64_t from, int64_t to) {
    const at::NoGradGuard no_gradients;  // of this thread
    kernel(static_cast<size_t>(from), static_cast<size_t>(to - from));
  });
}

void BucketedOptimizer::Bucket::make_missing(size_t k) {
  for (size_t i = 0; i < params.size(); ++i) {
    if (!state[k][i].defined()) set_state(k, i, at::zeros_like(params[i]));
  }
}

std::unique_ptr<TensorState> BucketedOptimizer::make_state(const at::Tensor& parameter,
                                                           const AnyGroupOptions& options) const {
  auto state = std::make_unique<TensorState>();
  state->tensors = initial_state(real_view(parameter), options);
  return state;
}

at::Tensor BucketedOptimizer::step(LossClosure closure) {
  at::Tensor loss;
  if (closure) {
    const at::AutoGradMode with_gradients(true);
    loss = closure();
  }
  const at::NoGradGuard no_gradients;
  caches_.resize(param_groups_.size());
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    GroupCache& cache = caches_[g];
    if (!refresh(cache, param_groups_[g].params())) rebuild(cache, param_groups_[g]);
    const auto& options = static_cast<const AnyGroupOptions&>(param_groups_[g].options());
    for (Bucket& bucket : cache.buckets) {
      update(options, bucket);
      if (!bucket.has_new) continue;
      for (TensorState* owner : bucket.owners) owner->is_new = false;
      bucket.has_new = false;
    }
  }
  return loss;
}

/// Puts the gradients of this step into the buckets. False: they do not fit the buckets any more.
bool BucketedOptimizer::refresh(GroupCache& cache, const std::vector<at::Tensor>& params) const {
  if (cache.slots.size() != params.size()) return false;
  for (size_t i = 0; i < params.size(); ++i) {
    const at::Tensor& param = params[i];
    const Slot& slot = cache.slots[i];
    if (slot.param != param.unsafeGetTensorImpl()) return false;
    const bool has_gradient = param.defined() && param.grad().defined();
    if (has_gradient != (slot.bucket >= 0)) return false;
    if (!has_gradient) continue;
    if (slot.data != param.const_data_ptr()) return false;
    Bucket& bucket = cache.buckets[static_cast<size_t>(slot.bucket)];
    bucket.grads[slot.index] = gradient_of(param);
  }
  return true;
}

void BucketedOptimizer::rebuild(GroupCache& cache, const torch::optim::OptimizerParamGroup& group) {
  check_group(group.options());
  const auto& options = static_cast<const AnyGroupOptions&>(group.options());
  const std::vector<at::Tensor>& params = group.params();
  cache = {};
  cache.slots.resize(params.size());
  for (const bool wants_large : {true, false}) {  // large parameters come first
    for (size_t i = 0; i < params.size(); ++i) {
      cache.slots[i].param = params[i].unsafeGetTensorImpl();
      const bool has_gradient = params[i].defined() && params[i].grad().defined();
      if (has_gradient && is_large(params[i]) == wants_large) {
        add_to_bucket(cache, cache.slots[i], params[i], options);
      }
    }
  }
}

void BucketedOptimizer::add_to_bucket(GroupCache& cache, Slot& slot, const at::Tensor& param,
                                      const AnyGroupOptions& options) {
  check_param(param);
  const at::Tensor real = real_view(param);
  size_t b = 0;
  while (b < cache.buckets.size() && !same_kind(cache.buckets[b].params.front(), real)) ++b;
  if (b == cache.buckets.size()) cache.buckets.emplace_back().state.resize(state_names().size());
  Bucket& bucket = cache.buckets[b];
  slot.data = param.const_data_ptr();
  slot.bucket = static_cast<int64_t>(b);
  slot.index = bucket.params.size();
  TensorState& state = state_of(param, options);
  bucket.params.push_back(real);
  bucket.grads.push_back(gradient_of(param));
  bucket.owners.push_back(&state);
  for (size_t k = 0; k < state.tensors.size(); ++k) bucket.state[k].push_back(state.tensors[k]);
  if (is_large(param)) {
    ++bucket.num_large;
  } else {
    bucket.small_numel += real.numel();
  }
}

TensorState& BucketedOptimizer::state_of(const at::Tensor& param, const AnyGroupOptions& options) {
  auto& slot = state_[param.unsafeGetTensorImpl()];
  const at::Tensor real = real_view(param);
  if (slot == nullptr) slot = make_state(param, options);
  auto& state = static_cast<TensorState&>(*slot);
  for (at::Tensor& tensor : state.tensors) {
    if (!tensor.defined() || tensor.dim() == 0) continue;
    if (!same_kind(tensor, real)) {
      throw ModelError(fmt::format(
          "[{}] a parameter must keep its dtype and device, got {} on {} with a state of {} on {}. Make the optimizer "
          "after the module has been converted and moved.",
          name(), describe_tensor(real), real.device().str(), describe_tensor(tensor), tensor.device().str()));
    }
    // The memory format of the parameter may have changed.
    if (tensor.sizes() == real.sizes() && tensor.strides() != real.strides()) {
      tensor = at::empty_like(real).copy_(tensor);
    }
  }
  return state;
}

void BucketedOptimizer::check_param(const at::Tensor& param) const {
  if (param.layout() != at::kStrided || !param.is_non_overlapping_and_dense()) {
    throw ModelError(
        fmt::format("[{}] a parameter must be one dense block of memory, got {} with strides [{}]. Make it "
                    "a leaf of its own, for example with clone().",
                    name(), describe_tensor(param), fmt::join(param.strides(), ", ")));
  }
  if (!param.is_floating_point() && !param.is_complex()) {
    throw ModelError(
        fmt::format("[{}] a parameter must be of a floating-point type, got {}.", name(), describe_tensor(param)));
  }
}

/// The gradient with the strides of its parameter, which the fused kernels take for granted.
at::Tensor BucketedOptimizer::gradient_of(const at::Tensor& param) const {
  const at::Tensor& grad = param.grad();
  if (grad.layout() != at::kStrided) {
    throw ModelError(
        fmt::format("[{}] gradients must be dense, got a sparse one for a parameter {}. Switch the layer's "
                    "sparse gradients off, or take torch::optim::SGD or torch::optim::Adagrad.",
                    name(), describe_tensor(param)));
  }
  if (grad.strides() == param.strides()) return real_view(grad);
  return real_view(at::empty_like(param).copy_(grad));
}

}  // namespace levin
