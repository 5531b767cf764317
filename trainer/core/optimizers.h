#pragma once

#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin {

using Optimizer = torch::optim::Optimizer;

/// What configure_optimizers returns: one optimizer.
///
///   return std::make_unique<torch::optim::AdamW>(parameters(), 1e-3);
class Optimizers {
 public:
  template <class O, class = std::enable_if_t<std::is_base_of_v<Optimizer, O>>>
  Optimizers(std::unique_ptr<O> optimizer) {  // implicit on purpose: one optimizer is the common case
    optimizers_.push_back(std::move(optimizer));
  }

  size_t size() const { return optimizers_.size(); }
  Optimizer& operator[](size_t index) const { return *optimizers_[index]; }

 private:
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
};

/// Makes the optimizer for parameters [any shape], in the order of named_parameters(). Used where YAML or the Trainer's
/// parts name the optimizer instead of the module.
using OptimizerFactory = std::function<Optimizers(std::vector<at::Tensor>)>;

}  // namespace levin
