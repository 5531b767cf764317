#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "trainer/core/trainer_state.h"

namespace torch::nn {
class Module;
}

namespace levin {

/// Looks at every gradient of one backward pass (detect_anomaly). Slow: it synchronises the device at each operation.
class AnomalyWatch {
 public:
  /// Watches the operations that `loss` comes from. Errors: ModelError if the loss is not finite itself.
  AnomalyWatch(const at::Tensor& loss, const TrainerState& state);

  /// After backward. Errors: ModelError that names the operation whose gradient was the first that is not finite, the
  /// parameters that got it, the epoch, batch and step.
  void check(const torch::nn::Module& module) const;

 private:
  const TrainerState& state_;
  std::shared_ptr<std::string> first_operation_ = std::make_shared<std::string>();
};

}  // namespace levin
