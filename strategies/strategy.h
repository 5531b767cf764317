#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <vector>

#include "trainer/core/communicator.h"
#include "trainer/core/optimizers.h"
#include "trainer/core/state_dict.h"

namespace torch::nn {
class Module;
}

namespace levin {

/// Whether backward() leaves gradients that all ranks agree on.
enum class GradSync {
  kNow,    ///< The last micro-batch of an optimizer step: gradients are reduced over the ranks.
  kDefer,  ///< More micro-batches follow: gradients stay local and add up.
};

/// How one model lives on its devices: placement, backward, gradient synchronisation, optimizer step, and which part of
/// the state this rank saves. It knows no loops, data or callbacks. Call from one thread.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// As in TrainerOptions::strategy.
  virtual std::string_view name() const = 0;
  /// Where this rank's parameters and batches live.
  virtual at::Device device() const = 0;
  virtual Communicator& communicator() = 0;

  /// Places the module's parameters and buffers (collective). Called before configure_optimizers.
  virtual void setup(torch::nn::Module& module) = 0;
  /// Adds the gradients of `loss` (scalar) to those of the parameters.
  virtual void backward(const at::Tensor& loss, GradSync sync) = 0;
  virtual void optimizer_step(Optimizer& optimizer) = 0;
  /// Scales the gradients of `parameters` so that their L2 norm over all ranks' parts is at most max_norm. Returns the
  /// norm before, a scalar on the device. No device synchronisation.
  virtual at::Tensor clip_gradient_norm(const std::vector<at::Tensor>& parameters, double max_norm) = 0;

  /// Parameters and buffers by name (collective); complete on rank 0.
  virtual StateDict model_state(torch::nn::Module& module) = 0;
  /// Errors: CheckpointError that lists every missing, unexpected or mis-shaped name; the module is then unchanged.
  virtual void load_model_state(torch::nn::Module& module, const StateDict& state) = 0;
};

}  // namespace levin
