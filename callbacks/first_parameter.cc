#include "callbacks/first_parameter.h"

#include "trainer/core/lightning_module.h"

namespace levin {

at::Tensor first_parameter(const LightningModule& module) {
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.defined() && parameter.is_floating_point()) return parameter;
  }
  return {};
}

}  // namespace levin
