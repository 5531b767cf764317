#pragma once

#include "callbacks/run_context.h"
#include "trainer/core/lightning_module.h"
#include "trainer/refusing_control.h"
#include "trainer/run.h"

namespace levin {

/// What callbacks see before and after the loop: in setup, once there are optimizers, in teardown, and where a run
/// fails before its loop.
class IdleContext {
 public:
  /// The references must outlive the context. optimizers: nullptr where there are none.
  IdleContext(Run& run, LightningModule& module, Stage stage, Optimizers* optimizers = nullptr)
      : run_dir_(run.folder_path()),
        store_(stage),
        context_{.stage = stage,
                 .is_sanity_checking = false,
                 .is_fitting = stage == Stage::kTrain,
                 .has_validation = false,
                 .state = run.state,
                 .metrics = run.metrics,
                 .store = store_,
                 .module = module,
                 .optimizers = optimizers,
                 .communicator = run.parts.strategy->communicator(),
                 .control = control_,
                 .loggers = run.parts.loggers,
                 .options = run.options,
                 .run_dir = run_dir_,
                 .num_batches = std::nullopt,
                 .max_epochs = std::nullopt,
                 .max_steps = std::nullopt} {}
  IdleContext(const IdleContext&) = delete;
  IdleContext& operator=(const IdleContext&) = delete;

  const RunContext& get() const { return context_; }

 private:
  std::filesystem::path run_dir_;
  MetricStore store_;
  RefusingControl control_;
  RunContext context_;
};

}  // namespace levin
