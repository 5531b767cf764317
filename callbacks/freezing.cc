#include "callbacks/freezing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "trainer/core/error.h"
#include "trainer/core/nearest_name.h"

namespace levin {
namespace {

using torch::nn::Module;

// Calls fn for the module and all below. (Module::apply needs a module that a shared_ptr owns.)
template <class M, class Fn>
void for_each_module(M& module, const Fn& fn) {
  fn(module);
  for (const auto& child : module.children()) for_each_module<M>(*child, fn);
}

}  // namespace

Module& find_submodule(Module& module, std::string_view name, std::string_view owner) {
  Module* found = &module;
  std::string_view rest = name;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const auto children = found->named_children();
    const auto* child = children.find(std::string(part));
    if (child == nullptr) {
      const std::vector<std::string> names = children.keys();
      const std::optional<std::string> nearest = find_nearest_name(part, names);
      throw ConfigError(
          fmt::format("[{}] each module must be the name of a submodule, got \"{}\": there is no \"{}\" among {}.{}",
                      owner, name, part, names.empty() ? "no children" : fmt::format("{}", fmt::join(names, ", ")),
                      nearest ? fmt::format(" Did you mean \"{}\"?", *nearest) : ""));
    }
    found = child->get();
  }
  return *found;
}

bool has_running_statistics(const Module& module) {
  return module.named_buffers(/*recurse=*/false).contains("running_mean");
}

std::vector<at::Tensor> freezable_parameters(const Module& module, bool train_bn) {
  std::vector<at::Tensor> parameters;
  for_each_module(module, [&](const Module& each) {
    if (train_bn && has_running_statistics(each)) return;
    for (const at::Tensor& parameter : each.parameters(/*recurse=*/false)) parameters.push_back(parameter);
  });
  return parameters;
}

void freeze(Module& module, bool train_bn) {
  for (at::Tensor& parameter : freezable_parameters(module, train_bn)) {
    parameter.set_requires_grad(false);
    parameter.mutable_grad().reset();
  }
  if (train_bn) return;
  for_each_module(module, [](Module& each) {
    if (has_running_statistics(each)) each.eval();
  });
}

void thaw_running_statistics(Module& module) {
  const bool is_training = module.is_training();
  for_each_module(module, [&](Module& each) {
    if (has_running_statistics(each)) each.train(is_training);
  });
}

void unfreeze(Module& module) {
  for (at::Tensor& parameter : freezable_parameters(module, false)) {
    const at::ScalarType dtype = parameter.scalar_type();
    if (at::isFloatingType(dtype) || at::isComplexType(dtype)) parameter.set_requires_grad(true);
  }
  thaw_running_statistics(module);
}

}  // namespace levin
