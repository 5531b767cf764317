#include "trainer/core/lightning_module.h"

#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {
namespace {

[[noreturn]] void throw_missing(const torch::nn::Module& module, const char* method, const char* used_by) {
  throw ConfigError(
      fmt::format("[LightningModule] {} does not override {}, which {} needs.", module.name(), method, used_by));
}

}  // namespace

void LightningModule::validation_step(const Batch& /*batch*/, StepContext& /*ctx*/) {
  throw_missing(*this, "validation_step", "validation");
}

void LightningModule::test_step(const Batch& /*batch*/, StepContext& /*ctx*/) {
  throw_missing(*this, "test_step", "test");
}

Batch LightningModule::predict_step(const Batch& /*batch*/, StepContext& /*ctx*/) {
  throw_missing(*this, "predict_step", "predict");
}

Optimizers LightningModule::configure_optimizers() {
  throw ConfigError(
      fmt::format("[LightningModule] {} has no optimizer. Override configure_optimizers(), or name one: "
                  "\"optimizer: {{class: AdamW, lr: 1e-3}}\" in YAML, TrainerParts::optimizer in C++.",
                  name()));
}

}  // namespace levin
