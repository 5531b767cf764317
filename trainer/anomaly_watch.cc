#include "trainer/anomaly_watch.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/nn/module.h>

#include <unordered_set>
#include <vector>

#include "trainer/core/error.h"

namespace levin {
namespace {

using torch::autograd::Node;
using torch::autograd::variable_list;

bool is_finite(const at::Tensor& tensor) {
  if (!tensor.defined()) return true;
  const at::NoGradGuard no_grad;
  return at::isfinite(tensor).all().item<bool>();
}

bool is_finite(const variable_list& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (!is_finite(tensor)) return false;
  }
  return true;
}

/// Notes the name of the node that it hangs on if that node is the first to make a gradient that is not finite.
class FiniteCheck final : public torch::autograd::FunctionPostHook {
 public:
  FiniteCheck(std::string name, std::shared_ptr<std::string> first)
      : name_(std::move(name)), first_(std::move(first)) {}
  variable_list operator()(const variable_list& outputs, const variable_list& inputs) override {
    if (first_->empty() && !is_finite(outputs) && is_finite(inputs)) *first_ = name_;
    return outputs;
  }

 private:
  std::string name_;
  std::shared_ptr<std::string> first_;
};

}  // namespace

AnomalyWatch::AnomalyWatch(const at::Tensor& loss, const TrainerState& state) : state_(state) {
  if (!is_finite(loss)) {
    throw ModelError(fmt::format("[detect_anomaly] epoch {}, batch {}, step {}: the loss is {} before backward.",
                                 state.epoch, state.batch_idx, state.global_step, loss.item<double>()));
  }
  std::vector<Node*> open = {loss.grad_fn().get()};
  std::unordered_set<Node*> seen;
  while (!open.empty()) {
    Node* node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    node->add_post_hook(std::make_unique<FiniteCheck>(node->name(), first_operation_));
    for (const auto& edge : node->next_edges()) open.push_back(edge.function.get());
  }
}

void AnomalyWatch::check(const torch::nn::Module& module) const {
  std::vector<std::string> names;
  for (const auto& parameter : module.named_parameters()) {
    if (parameter.value().defined() && !is_finite(parameter.value().grad())) names.push_back(parameter.key());
  }
  if (names.empty() && first_operation_->empty()) return;
  throw ModelError(
      fmt::format("[detect_anomaly] epoch {}, batch {}, step {}: the gradient of {} is not finite{}.", state_.epoch,
                  state_.batch_idx, state_.global_step,
                  names.empty() ? "an intermediate value" : fmt::format("{}", fmt::join(names, ", ")),
                  first_operation_->empty() ? "" : fmt::format("; {} was the first to make it so", *first_operation_)));
}

}  // namespace levin
