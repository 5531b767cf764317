#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "trainer/core/optimizers.h"

namespace levin {

/// What training_step may do itself where LightningModule::automatic_optimization() is false. Implemented by the loop;
/// the callbacks' hooks are called as in automatic optimization. Collective on several ranks.
class ManualOptimization {
 public:
  virtual ~ManualOptimization() = default;

  virtual size_t num_optimizers() const = 0;
  /// Errors of this and the following: ConfigError if there is no optimizer `index`.
  virtual Optimizer& optimizer(size_t index) = 0;
  /// Adds the gradients of `loss` (a scalar) to those of the parameters, reduced over the ranks.
  virtual void backward(const at::Tensor& loss) = 0;
  /// One optimizer step, which counts in global_step. Gradients that are not finite skip it in 16-mixed.
  virtual void step(size_t index) = 0;
  virtual void zero_grad(size_t index) = 0;
  /// Switches requires_grad off for parameters that belong to other optimizers only, until untoggle().
  virtual void toggle(size_t index) = 0;
  virtual void untoggle() = 0;
  /// One step of the optimizer's schedule; manual optimization never does so by itself.
  virtual void step_schedule(size_t index) = 0;
};

/// Only the parameters of one optimizer get gradients until the end of the scope:
///
///   const levin::ToggledOptimizer toggled(ctx.manual(), 0);
class ToggledOptimizer {
 public:
  ToggledOptimizer(ManualOptimization& manual, size_t index) : manual_(manual) { manual_.toggle(index); }
  ~ToggledOptimizer() { manual_.untoggle(); }
  ToggledOptimizer(const ToggledOptimizer&) = delete;
  ToggledOptimizer& operator=(const ToggledOptimizer&) = delete;

 private:
  ManualOptimization& manual_;
};

/// The gradients that are about to be clipped, of one optimizer. See LightningModule::configure_gradient_clipping.
class GradientClipping {
 public:
  virtual ~GradientClipping() = default;
  virtual const Optimizer& optimizer() const = 0;
  /// As gradient_clip_val and gradient_clip_algorithm say.
  virtual void clip_as_configured() = 0;
  /// Scales all gradients so that their L2 norm over all parameters (and ranks) is at most max_norm (> 0).
  virtual void clip_norm(double max_norm) = 0;
  /// Limits each element to [-max_value, max_value]; max_value > 0.
  virtual void clip_value(double max_value) = 0;
};

}  // namespace levin
