#pragma once

#include <torch/optim/optimizer.h>

#include <memory>

#include "trainer/core/option_visitor.h"

namespace levin {

/// The options of one parameter group of a Levin optimizer, whatever its fields are.
class AnyGroupOptions : public torch::optim::OptimizerOptions {
 public:
  /// Every field, as YAML names it.
  virtual void visit(OptionVisitor& visitor) = 0;
  /// Sets the momentum, or beta1 of Adam and its kin. False: the optimizer has neither.
  virtual bool set_momentum(double momentum) = 0;
};

/// Fields with `double lr` and visit() as group options, for param_groups():
///
///   OptimizerParamGroup(parameters, std::make_unique<GroupOptions<AdamWOptions>>(options))
template <class Fields>
class GroupOptions final : public AnyGroupOptions {
 public:
  explicit GroupOptions(Fields fields_in) : fields(std::move(fields_in)) {}

  double get_lr() const override { return fields.lr; }
  void set_lr(double lr) override { fields.lr = lr; }
  void visit(OptionVisitor& visitor) override { fields.visit(visitor); }
  bool set_momentum(double momentum) override {
    if constexpr (requires { fields.momentum; }) {
      fields.momentum = momentum;
      return true;
    } else if constexpr (requires { fields.betas; }) {
      fields.betas[0] = momentum;
      return true;
    } else {
      return false;
    }
  }
  std::unique_ptr<torch::optim::OptimizerOptions> clone() const override {
    return std::make_unique<GroupOptions>(*this);
  }

  Fields fields;
};

}  // namespace levin
