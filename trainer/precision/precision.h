#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string_view>
#include <vector>

#include "trainer/core/batch.h"
#include "trainer/core/communicator.h"
#include "trainer/core/state_dict.h"

namespace torch::nn {
class Module;
}

namespace levin {

/// What holds during a forward pass; ends when it is destroyed, also by an exception.
class ForwardScope {
 public:
  virtual ~ForwardScope() = default;
};

/// In which types a run computes. The loop calls it in the fixed order of an optimizer step: forward in
/// forward_scope(), backward of scale_loss(), gradient synchronisation, unscale_gradients(), optimizer step unless a
/// gradient was not finite, update(). Call from one thread.
class Precision {
 public:
  virtual ~Precision() = default;

  /// As in TrainerOptions::precision.
  virtual std::string_view name() const = 0;
  /// Sets the dtype of the module's floating parameters and buffers; integer ones stay as they are.
  virtual void convert_module(torch::nn::Module& module) const = 0;
  /// The batch with its floating leaves in the dtype that the module computes in.
  virtual Batch convert_input(Batch batch) const = 0;
  /// Entered around every step of the module, forward only. nullptr: nothing to do.
  virtual std::unique_ptr<ForwardScope> forward_scope() const { return nullptr; }

  virtual at::Tensor scale_loss(const at::Tensor& loss) const { return loss; }
  /// Undoes the scale on the gradients of `parameters`. False: some rank found a gradient that is not finite, so all
  /// ranks skip the step (collective).
  virtual bool unscale_gradients(const std::vector<at::Tensor>& /*parameters*/, Communicator& /*communicator*/) {
    return true;
  }
  /// Called after each optimizer step, done or skipped.
  virtual void update() {}

  virtual StateDict state() const { return {}; }
  virtual void load_state(const StateDict& /*state*/) {}
};

}  // namespace levin
