#pragma once

#include <c10/util/FunctionRef.h>
#include <torch/optim/optimizer.h>

#include <string>
#include <vector>

#include "trainer/core/group_options.h"

namespace levin {

/// What an optimizer keeps for one parameter: one tensor for each of the optimizer's state_names(), undefined where the
/// options need none.
struct TensorState final : torch::optim::OptimizerCloneableParamState<TensorState> {
  std::vector<at::Tensor> tensors;
  bool is_new = true;  ///< No step has been taken with it.
};

/// Base of Levin's optimizers: sorts the parameters of each group that have a gradient by device and dtype, and updates
/// each such bucket at once. The lists of a bucket are kept from step to step, so that a step allocates nothing itself.
///
/// Parameters without a gradient are skipped. A complex parameter is treated as the real one of shape [..., 2]. Make
/// the optimizer after the module is on its device. Call from one thread.
class BucketedOptimizer : public torch::optim::Optimizer {
 public:
  /// One update of all parameters that have a gradient. closure: makes gradients anew and returns the loss, which step
  /// returns. Errors: ModelError if a gradient is sparse, or a parameter is no dense block of floating-point numbers,
  /// or has changed its shape, dtype or device.
  at::Tensor step(LossClosure closure = nullptr) final;

  /// "AdamW".
  virtual const char* name() const = 0;
  /// Names of the tensors in a TensorState: "exp_avg".
  virtual const std::vector<std::string>& state_names() const = 0;
  /// The tensors of a parameter before its first step; a complex parameter comes as the real one.
  virtual std::vector<at::Tensor> initial_state(const at::Tensor& parameter, const AnyGroupOptions& options) const = 0;
  /// Errors: ConfigError if options are of another optimizer, or have a forbidden value.
  virtual void check_group(const torch::optim::OptimizerOptions& options) const = 0;

  /// The state of a parameter before its first step.
  std::unique_ptr<TensorState> make_state(const at::Tensor& parameter, const AnyGroupOptions& options) const;
  /// To be called after state() has been changed from outside.
  void forget_buckets() { caches_.clear(); }

 protected:
  using torch::optim::Optimizer::Optimizer;

  /// Parameters of one group, one device and one dtype. params[i], grads[i] and state[k][i] belong together and have
  /// the same strides.
  struct Bucket {
    std::vector<at::Tensor> params;
    std::vector<at::Tensor> grads;
    std::vector<std::vector<at::Tensor>> state;  ///< One list for each of state_names().
    std::vector<TensorState*> owners;
    size_t num_large = 0;     ///< The first ones: on a device, or each worth several threads.
    int64_t small_numel = 0;  ///< Numbers in all others.
    bool has_new = true;      ///< A parameter of it takes its first step.

    /// Calls kernel(begin, count) for ranges of the parameters: once on a device. LibTorch's fused CPU kernels start
    /// all threads for each tensor, however small, which costs more than the work in it; so small tensors are handed
    /// out to the threads here. The kernel must not depend on gradient mode or on other ranges.
    void for_ranges(c10::function_ref<void(size_t begin, size_t count)> kernel) const;

    /// Makes tensor k of the state of parameter i.
    void set_state(size_t k, size_t i, const at::Tensor& tensor);
    /// Makes zeros of tensor k where a parameter has none: a schedule may have raised the momentum from 0.
    void make_missing(size_t k);
  };

  /// Called without gradient mode, with at least one parameter.
  virtual void update(const AnyGroupOptions& options, Bucket& bucket) = 0;

 private:
  struct Slot {
    const c10::TensorImpl* param = nullptr;
    const void* data = nullptr;  ///< Module::to() changes a parameter behind its identity.
    int64_t bucket = -1;         ///< -1: it had no gradient.
    size_t index = 0;
  };
  struct GroupCache {
    std::vector<Slot> slots;  ///< One for each parameter of the group.
    std::vector<Bucket> buckets;
  };

  bool refresh(GroupCache& cache, const std::vector<at::Tensor>& params) const;
  void rebuild(GroupCache& cache, const torch::optim::OptimizerParamGroup& group);
  void add_to_bucket(GroupCache& cache, Slot& slot, const at::Tensor& param, const AnyGroupOptions& options);
  TensorState& state_of(const at::Tensor& param, const AnyGroupOptions& options);
  at::Tensor gradient_of(const at::Tensor& param) const;
  void check_param(const at::Tensor& param) const;

  std::vector<GroupCache> caches_;
};

/// Tensors [begin, begin + count) of a list.
inline at::TensorList range_of(const std::vector<at::Tensor>& tensors, size_t begin, size_t count) {
  return at::TensorList(tensors).slice(begin, count);
}

/// Adds one to counters [n] of single numbers, float32: in place on the CPU, with one kernel elsewhere.
void advance_steps(std::vector<at::Tensor>& steps);

}  // namespace levin
