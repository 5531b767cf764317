#pragma once

#include <string>

#include "trainer/config/run_config.h"
#include "trainer/config/yaml.h"
#include "trainer/core/lightning_module.h"

namespace levin {

/// Has nothing to train.
struct SkippingModule : LightningModule {
  StepOutput training_step(const Batch& /*batch*/, StepContext& /*ctx*/) override { return StepOutput::skip(); }
};

/// The configuration in a file "a.yaml" whose `data` is as given, from line 4 on.
inline RunConfig read_data_config(const std::string& data) {
  Registry registry;
  add_builtin_classes(registry);
  registry.modules.add<SkippingModule>("Skipping");
  return read_run_config(parse_yaml("seed: 1\nmodel: Skipping\ndata:\n" + data, "a.yaml"), registry);
}

}  // namespace levin
