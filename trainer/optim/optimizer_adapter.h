#pragma once

#include <torch/optim/optimizer.h>

#include <memory>
#include <string>

#include "trainer/optim/state_fields.h"

namespace levin {

/// What saving and loading must know of a kind of optimizer.
class OptimizerAdapter {
 public:
  using ParamState = torch::optim::OptimizerParamState;
  using GroupOptionsBase = torch::optim::OptimizerOptions;

  virtual ~OptimizerAdapter() = default;
  /// "AdamW", or "torch::optim::AdamW".
  virtual std::string class_name() const = 0;
  /// The state of a parameter before its first step.
  virtual std::unique_ptr<ParamState> new_state(const at::Tensor& parameter, const GroupOptionsBase& options) const = 0;
  virtual void visit_state(ParamState& state, const at::Tensor& parameter, FieldVisitor& visitor) const = 0;
  virtual void visit_options(GroupOptionsBase& options, FieldVisitor& visitor) const = 0;
  /// Whether the state depends on the order of the parameters.
  virtual bool is_ordered() const { return false; }
  /// Called after the states and options of the optimizer have been replaced.
  virtual void on_loaded() const {}
};

/// nullptr if the optimizer is neither Levin's nor one of LibTorch's own.
std::unique_ptr<OptimizerAdapter> find_adapter(torch::optim::Optimizer& optimizer);
std::unique_ptr<OptimizerAdapter> find_libtorch_adapter(const torch::optim::Optimizer& optimizer);

}  // namespace levin
