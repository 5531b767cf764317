#include "trainer/stage_scope.h"

#include "trainer/core/lightning_data_module.h"
#include "trainer/idle_context.h"

namespace levin {

StageScope::StageScope(Run& run, LightningModule& module, Stage stage) : run_(run), module_(module), stage_(stage) {
  run.is_error_told = false;
  if (run.data != nullptr) {
    run.data->prepare_data();
    run.data->setup(stage);
  }
  try {
    set_up();
  } catch (const std::exception& error) {
    fail(error);
    throw;
  }
}

void StageScope::set_up() {
  const IdleContext context(run_, module_, stage_);
  run_.callbacks.call(&Callback::setup, context.get());
  module_.setup(stage_);
  module_.configure_model();
}

void StageScope::tear_down() {
  const IdleContext context(run_, module_, stage_);
  if (run_.data != nullptr) run_.data->teardown(stage_);
  run_.callbacks.call(&Callback::teardown, context.get());
  module_.teardown(stage_);
}

void StageScope::fail(const std::exception& error) noexcept {
  try {
    const IdleContext context(run_, module_, stage_);
    run_.tell_error(context.get(), error);
    tear_down();
  } catch (const std::exception& second) {
    TORCH_WARN("While the run ended because of an error: ", second.what());
  }
}

}  // namespace levin
