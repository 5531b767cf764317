#pragma once

#include "callbacks/callback.h"
#include "trainer/callback_list.h"
#include "trainer/core/lightning_module.h"
#include "trainer/core/profiler.h"

namespace levin {

/// Calls a hook of the callbacks, then the module's of the same name.
class Hooks {
 public:
  Hooks(const CallbackList& callbacks, LightningModule& module, Profiler* profiler)
      : callbacks_(callbacks), module_(module), profiler_(profiler) {}

  /// hooks.call(&Callback::on_train_start, &LightningModule::on_train_start, run, ctx). What is behind ctx goes to the
  /// callback after `run`, and to the module before `ctx`.
  template <class CallbackHook, class ModuleHook, class... Arguments>
  auto call(CallbackHook callback_hook, ModuleHook module_hook, const RunContext& run, StepContext& ctx,
            const Arguments&... arguments) const {
    const ProfileScope scope(profiler_, Section::kCallbacks);
    callbacks_.call(callback_hook, run, arguments...);
    return (module_.*module_hook)(arguments..., ctx);
  }

  template <class CallbackHook, class... Arguments>
  void call_callbacks(CallbackHook hook, const RunContext& run, const Arguments&... arguments) const {
    const ProfileScope scope(profiler_, Section::kCallbacks);
    callbacks_.call(hook, run, arguments...);
  }

 private:
  const CallbackList& callbacks_;
  LightningModule& module_;
  Profiler* profiler_;
};

}  // namespace levin
