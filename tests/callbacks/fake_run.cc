#include "tests/callbacks/fake_run.h"

#include <stdlib.h>

#include <stdexcept>

#include "trainer/core/lightning_module.h"

namespace levin {
namespace {

struct UncalledModule : LightningModule {
  StepOutput training_step(const Batch& /*batch*/, StepContext& /*ctx*/) override { return StepOutput::skip(); }
};

}  // namespace

LightningModule& fake_module() {
  static UncalledModule module;
  return module;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "levin_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder " + name);
  path = name;
}

}  // namespace levin
