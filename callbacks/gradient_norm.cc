#include "callbacks/gradient_norm.h"

#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "trainer/core/error.h"
#include "trainer/core/tied_tensors.h"

namespace levin {

NamedGradients gradients_of(const torch::nn::Module& module) {
  std::vector<std::string> names;
  std::vector<at::Tensor> parameters;
  for (const auto& item : module.named_parameters()) {
    if (!item.value().grad().defined()) continue;
    names.push_back(item.key());
    parameters.push_back(item.value());
  }
  const std::vector<size_t> first = find_ties(parameters);
  NamedGradients gradients;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (first[i] != i) continue;
    const at::Tensor gradient = parameters[i].grad().detach();
    gradients.names.push_back(names[i]);
    gradients.tensors.push_back(gradient.is_sparse() ? gradient.coalesce().values() : gradient);
  }
  return gradients;
}

at::Tensor norms_of(const std::vector<at::Tensor>& tensors, double p) {
  if (tensors.empty()) throw InternalError("[norms_of] there must be a tensor, got none.");
  const c10::AutoGradMode no_grad(false);
  const auto has = [&](auto predicate) { return std::any_of(tensors.begin(), tensors.end(), predicate); };
  const bool is_double = has([](const at::Tensor& t) { return c10::toRealValueType(t.scalar_type()) == at::kDouble; });
  const at::ScalarType dtype = is_double ? at::kDouble : at::kFloat;
  // The norm of a half tensor may be out of the range of its dtype. Complex tensors take no real dtype here.
  const bool is_complex = has([](const at::Tensor& t) { return t.is_complex(); });
  std::vector<at::Tensor> norms =
      at::_foreach_norm(tensors, p, is_complex ? std::nullopt : std::optional<at::ScalarType>(dtype));
  const at::TensorOptions options = tensors[0].options().dtype(dtype);
  for (at::Tensor& norm : norms) norm = norm.to(options);
  return at::stack(norms);
}

at::Tensor total_norm(const at::Tensor& norms, double p) { return at::linalg_vector_norm(norms, p); }

}  // namespace levin
