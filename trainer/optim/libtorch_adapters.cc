#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <typeinfo>

#include "trainer/optim/field_types.h"
#include "trainer/optim/optimizer_adapter.h"

namespace levin {
namespace {

namespace optim = torch::optim;

/// The states and options of LibTorch's optimizers, field by field.
template <class State>
requires std::is_same_v<State, optim::AdamParamState> || std::is_same_v<State, optim::AdamWParamState>
void visit_state_of(State& state, const at::Tensor& param, FieldVisitor& visitor) {
  visitor.integer("step", state.step());
  visitor.tensor("exp_avg", state.exp_avg(), &param, true);
  visitor.tensor("exp_avg_sq", state.exp_avg_sq(), &param, true);
  visitor.tensor("max_exp_avg_sq", state.max_exp_avg_sq(), &param, false);
}

void visit_state_of(optim::SGDParamState& state, const at::Tensor& param, FieldVisitor& visitor) {
  visitor.tensor("momentum_buffer", state.momentum_buffer(), &param, true);
}

void visit_state_of(optim::RMSpropParamState& state, const at::Tensor& param, FieldVisitor& visitor) {
  visitor.integer("step", state.step());
  visitor.tensor("square_avg", state.square_avg(), &param, true);
  visitor.tensor("momentum_buffer", state.momentum_buffer(), &param, false);
  visitor.tensor("grad_avg", state.grad_avg(), &param, false);
}

void visit_state_of(optim::AdagradParamState& state, const at::Tensor& param, FieldVisitor& visitor) {
  visitor.integer("step", state.step());
  visitor.tensor("sum", state.sum(), &param, true);
}

void visit_state_of(optim::LBFGSParamState& state, const at::Tensor& /*param*/, FieldVisitor& visitor) {
  visitor.integer("func_evals", state.func_evals());
  visitor.integer("n_iter", state.n_iter());
  visitor.real("t", state.t());
  visitor.real("prev_loss", state.prev_loss());
  visitor.tensor("d", state.d(), nullptr, true);
  visitor.tensor("H_diag", state.H_diag(), nullptr, true);
  visitor.tensor("prev_flat_grad", state.prev_flat_grad(), nullptr, true);
  visit_list(visitor, "old_dirs", state.old_dirs());
  visit_list(visitor, "old_stps", state.old_stps());
  visit_list(visitor, "ro", state.ro());
  // al is scratch memory, written before it is read; LibTorch makes it where it is not there.
}

template <class Options>
requires std::is_same_v<Options, optim::AdamOptions> || std::is_same_v<Options, optim::AdamWOptions>
void visit_options_of(Options& options, FieldVisitor& visitor) {
  visit_value(visitor, "lr", options.lr());
  visit_value(visitor, "betas.0", std::get<0>(options.betas()));
  visit_value(visitor, "betas.1", std::get<1>(options.betas()));
  visit_value(visitor, "eps", options.eps());
  visit_value(visitor, "weight_decay", options.weight_decay());
  visit_value(visitor, "amsgrad", options.amsgrad());
}

void visit_options_of(optim::SGDOptions& options, FieldVisitor& visitor) {
  visit_value(visitor, "lr", options.lr());
  visit_value(visitor, "momentum", options.momentum());
  visit_value(visitor, "dampening", options.dampening());
  visit_value(visitor, "weight_decay", options.weight_decay());
  visit_value(visitor, "nesterov", options.nesterov());
}

void visit_options_of(optim::RMSpropOptions& options, FieldVisitor& visitor) {
  visit_value(visitor, "lr", options.lr());
  visit_value(visitor, "alpha", options.alpha());
  visit_value(visitor, "eps", options.eps());
  visit_value(visitor, "weight_decay", options.weight_decay());
  visit_value(visitor, "momentum", options.momentum());
  visit_value(visitor, "centered", options.centered());
}

void visit_options_of(optim::AdagradOptions& options, FieldVisitor& visitor) {
  visit_value(visitor, "lr", options.lr());
  visit_value(visitor, "lr_decay", options.lr_decay());
  visit_value(visitor, "weight_decay", options.weight_decay());
  visit_value(visitor, "initial_accumulator_value", options.initial_accumulator_value());
  visit_value(visitor, "eps", options.eps());
}

void visit_options_of(optim::LBFGSOptions& options, FieldVisitor& visitor) {
  visit_value(visitor, "lr", options.lr());
  visit_value(visitor, "max_iter", options.max_iter());
  visit_value(visitor, "max_eval", options.max_eval());
  visit_value(visitor, "tolerance_grad", options.tolerance_grad());
  visit_value(visitor, "tolerance_change", options.tolerance_change());
  visit_value(visitor, "history_size", options.history_size());
  visit_value(visitor, "line_search_fn", options.line_search_fn());
}

template <class State, class Options>
class LibtorchAdapter final : public OptimizerAdapter {
 public:
  explicit LibtorchAdapter(const char* name) : name_(name) {}

  std::string class_name() const override { return name_; }
  std::unique_ptr<ParamState> new_state(const at::Tensor& /*parameter*/,
                                        const GroupOptionsBase& /*options*/) const override {
    return std::make_unique<State>();
  }
  void visit_state(ParamState& state, const at::Tensor& parameter, FieldVisitor& visitor) const override {
    visit_state_of(static_cast<State&>(state), parameter, visitor);
  }
  void visit_options(GroupOptionsBase& options, FieldVisitor& visitor) const override {
    visit_options_of(static_cast<Options&>(options), visitor);
  }
  bool is_ordered() const override { return std::is_same_v<State, optim::LBFGSParamState>; }

 private:
  const char* name_;
};

}  // namespace

std::unique_ptr<OptimizerAdapter> find_libtorch_adapter(const torch::optim::Optimizer& optimizer) {
  // A derived class may keep more than its base, so only the very type counts.
  const std::type_info& type = typeid(optimizer);
  if (type == typeid(optim::AdamW)) {
    return std::make_unique<LibtorchAdapter<optim::AdamWParamState, optim::AdamWOptions>>("torch::optim::AdamW");
  }
  if (type == typeid(optim::Adam)) {
    return std::make_unique<LibtorchAdapter<optim::AdamParamState, optim::AdamOptions>>("torch::optim::Adam");
  }
  if (type == typeid(optim::SGD)) {
    return std::make_unique<LibtorchAdapter<optim::SGDParamState, optim::SGDOptions>>("torch::optim::SGD");
  }
  if (type == typeid(optim::RMSprop)) {
    return std::make_unique<LibtorchAdapter<optim::RMSpropParamState, optim::RMSpropOptions>>("torch::optim::RMSprop");
  }
  if (type == typeid(optim::Adagrad)) {
    return std::make_unique<LibtorchAdapter<optim::AdagradParamState, optim::AdagradOptions>>("torch::optim::Adagrad");
  }
  if (type == typeid(optim::LBFGS)) {
    return std::make_unique<LibtorchAdapter<optim::LBFGSParamState, optim::LBFGSOptions>>("torch::optim::LBFGS");
  }
  return nullptr;
}

}  // namespace levin
