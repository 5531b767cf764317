#include "tests/callbacks/fake_run.h"

#include <stdlib.h>

#include <stdexcept>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/files/link.h"
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

void FakeControl::write_checkpoints() {
  for (const auto& [path, options] : std::exchange(pending_, {})) {
    try {
      if (before_save) before_save(path);
    } catch (const CheckpointError&) {
      if (!options.continue_on_error) throw;
      continue;
    }
    saved.push_back(path);
    save_options.push_back(options);
    if (!is_first_rank) continue;
    const std::filesystem::path written = path.string() + ".tmp";
    const std::filesystem::path older = path.string() + ".old";
    std::filesystem::create_directories(written);
    if (std::filesystem::exists(path)) std::filesystem::rename(path, older);
    std::filesystem::rename(written, path);
    std::filesystem::remove_all(older);
    for (const auto& [link, target] : options.links) {
      if (std::filesystem::exists(link.parent_path() / target)) replace_link(link, target);
    }
    for (const auto& replaced : options.replaces) std::filesystem::remove_all(replaced);
  }
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "levin_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder " + name);
  path = name;
}

}  // namespace levin
