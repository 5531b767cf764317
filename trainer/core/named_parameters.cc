#include "trainer/core/named_parameters.h"

namespace levin {

NamedParameters named_parameters(const torch::nn::Module& module) {
  NamedParameters result;
  for (const auto& parameter : module.named_parameters()) {
    if (parameter.value().defined()) result.emplace_back(parameter.key(), parameter.value());
  }
  return result;
}

}  // namespace levin
